# preempt.sh SCRIPT PLAN FLAGS..: in a cluster of slurm.py, a job of SCRIPT that would train for long is preempted by an urgent
# job, and later signalled as Slurm does before the end of its time; queued again, it goes on both times. The third time it
# trains for 50 steps more. Says what became of it, and leaves the number of steps in the file `steps`.
script=$1
shift
batch() { sbatch --parsable --output=out.txt --ntasks=2 --time=1:00:00 "$@"; }
# The script has the number of steps of a variable, as it is submitted once.
cat > dgc-run-for << 'END'
#!/bin/bash
count=${SLURM_RESTART_COUNT:-0} steps=1000000
if [ "$count" = 2 ]; then
  newest=$(ls checkpoints | tail -n 1)
  steps=$((10#${newest#step-} + 50))
  echo "$steps" > steps
fi
echo "begins $count" >> begun.txt
exec dgc-run "$@" --steps "$steps"
END
chmod +x dgc-run-for
sed "s|dgc-run \"|./dgc-run-for \"|" "$script" > job.sh
job=$(batch job.sh "$@" --checkpoint checkpoints --checkpoint-every 20)

state() { squeue --noheader --jobs="$job" --format='%T %r'; }
pause() {
  sleep 0.1
  [ -n "$(state)" ] || { scontrol show job "$job"; cat out.txt; exit 1; }
}
# Until both workers of the run with this number of restarts have begun, and there is a checkpoint later than the last one seen.
seen=
trains() {
  until [ "$(grep -c "begins $1" begun.txt 2> /dev/null)" = 2 ] && [[ "$(ls checkpoints 2> /dev/null | tail -n 1)" > "$seen" ]]; do
    pause
  done
}
# Slurm waits for two minutes before it starts a job again; an administrator need not, but for the second that credentials of the
# same job differ by.
again() {
  until [ "$(state)" = 'PENDING BeginTime' ]; do pause; done
  seen=$(ls checkpoints | tail -n 1)
  echo queued again
  scontrol update JobId="$job" StartTime=now+2
}
trains 0
sbatch --wait --partition=urgent --ntasks=4 --output=urgent.txt --wrap 'echo the urgent job' > /dev/null
cat urgent.txt
again
trains 1
scancel --signal=USR1 "$job"
again
while [ -n "$(state)" ]; do sleep 0.1; done
scontrol show job "$job" | grep -o 'Restarts=[0-9]*'
cat out.txt
