// What the thread sanitizer is not to report: libraries that are not instrumented, so that what they synchronise by is
// not seen. Part of every program of a thread-sanitizer build, so that workers with an environment of their own have it.
// The code of gRPC's headers is instrumented, the locks behind it are not; so races under its calls are not looked for.

extern "C" const char *__tsan_default_suppressions() {
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgrpc++.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libupb.so\n"
         "called_from_lib:libabsl_cord.so\n"
         "called_from_lib:libabsl_graphcycles_internal.so\n"
         "called_from_lib:libabsl_status.so\n"
         "called_from_lib:libabsl_synchronization.so\n"
         "called_from_lib:libprotobuf.so\n"
         "called_from_lib:libgomp.so\n"
         "called_from_lib:libucp.so\n"
         "called_from_lib:libuct.so\n"
         "called_from_lib:libucs.so\n"
         "race:grpc::\n"
         "race:grpc_core::\n"
         "race:grpc_event_engine::\n"
         "race:absl::\n"
         "race:google::protobuf::\n"
         "mutex:_dl_call_fini\n"; // libucs gives back locks that it never took
}
