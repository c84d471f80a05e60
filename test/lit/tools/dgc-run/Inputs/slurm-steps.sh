# slurm-steps.sh PLAN FLAGS..: steps of a job on one node.
srun --ntasks=2 dgc-run "$@" --save srun.safetensors
echo code $?
srun --ntasks=1 dgc-run "$@"
echo code $?
srun --ntasks=1 dgc-run "$@" --nproc 2 --save nproc.safetensors
echo code $?
srun --ntasks=2 dgc-run "$@" --nproc 2
echo code $?
set +x
srun --ntasks=2 dgc-run "$@" --save first.safetensors &
first=$!
srun --ntasks=2 dgc-run "$@" --save second.safetensors &
second=$!
wait $first
codes=$?
wait $second
echo both $codes $?
