# plugin.sh BUILD FOLDER: installs a build into FOLDER/prefix, builds examples/plugin and a program that uses the runtime
# against it, in another folder, and runs all from there.
set -euo pipefail
build=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../../.."
rm -rf "$folder" && mkdir -p "$folder"
cmake --install "$build" --prefix "$folder/prefix" > "$folder/log" || { cat "$folder/log"; exit 1; }
cp -r examples/plugin test/lit/scripts/Inputs/consumer "$folder"
export PATH=$folder/prefix/bin:$PATH
mnist=$PWD/examples/data/mnist
cd "$folder"
quietly() { "$@" > log 2>&1 || { cat log; exit 1; }; }

for project in plugin consumer; do
  quietly cmake -G Ninja -S $project -B build/$project -DCMAKE_PREFIX_PATH="$folder/prefix" \
    -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_C_COMPILER=clang-22
  quietly cmake --build build/$project
done
load=--load-pass-plugin=$folder/build/plugin/example-plugin.so
report=--insert-pass=after:shard=example-report-replicated

opt() { dgc-opt "$load" "$@"; }
refused() { if "$@" -o refused.dgcx 2>&1; then echo "this was not refused"; fi; }

echo "== a pass of the plug-in"
dgc-compile plugin/model.mlir --mesh data=2 "$load" "$report{at-least-bytes=4096}" --dump-phases-to dump -o plan.dgcx \
  2>&1 | grep remark
echo "== the command of the dump"
cd dump
eval "$(head -n 1 4-shard.mlir | cut -c4-)" 2>&1 > again.mlir | grep remark
cd ..
opt --example-report-replicated=at-least-bytes=400000 dump/4-shard.mlir -o /dev/null 2>&1 | grep remark

echo "== an op of the plug-in, and the same in ops of dgc"
sed -E 's|^( *)%hidden = .*|\1%size = dgc.abs %h\n\1%below = dgc.add %size, 1.0\n\1%hidden = dgc.divide %h, %below|' plugin/model.mlir > plain.mlir
quietly dgc-compile plain.mlir -o plain.dgcx
for plan in plan plain; do
  dgc-run $plan.dgcx --data "$mnist" --epochs 1 | grep '^test ' | tee $plan.txt
done
cmp plan.txt plain.txt
quietly dgc-compile plugin/model.mlir "$load" --target=cuda:sm_90 -o gpu.dgcx

echo "== a program with the runtime"
build/consumer/consumer plan.dgcx
ldd build/consumer/consumer | grep -E 'LLVM|MLIR' || true

echo "== what is refused"
refused dgc-compile plugin/model.mlir
refused dgc-compile plugin/model.mlir "$load" --insert-pass=after:shard=example-report
refused dgc-compile plugin/model.mlir "$load" "$report{at-most=3}"
sed 's/dgc [0-9.]*, LLVM/dgc 9.9.9, LLVM/' build/plugin/example-plugin.so > other.so
refused dgc-compile plugin/model.mlir --load-pass-plugin=other.so
refused dgc-opt --load-pass-plugin=other.so plugin/model.mlir
sed 's/, LLVM [0-9.]*/, LLVM 21.1/' build/plugin/example-plugin.so > other.so
refused dgc-compile plugin/model.mlir --load-pass-plugin=other.so
refused dgc-compile plugin/model.mlir --load-pass-plugin=prefix/lib/libdgc-runtime.so
