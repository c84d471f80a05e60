# transcript.sh FILE: runs the lines of FILE that begin with "$ ", and compares what each prints (standard error too) and
# its exit code with the lines that follow it. Lines of FILE that begin with # do not count.
sed -n 's/^[$] //p' "$1" | while read -r line; do
  echo "\$ $line"
  eval "$line" 2>&1 < /dev/null
  echo "code $?"
done | diff <(grep -v '^#' "$1") -
