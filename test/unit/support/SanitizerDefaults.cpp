// What the sanitizers are not to look for, as part of every program of such a build, so that workers with an
// environment of their own have it as well.

/// Thread sanitizer: libraries that are not instrumented, so that what they synchronise by is not seen. The code of
/// gRPC's headers is instrumented, the locks behind it are not; so races under its calls are not looked for.
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
         "called_from_lib:libdnnl.so\n"
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

/// Address sanitizer: LLVM's arenas poison what they have not given out yet. The linker in its libraries is not
/// instrumented, and does not lift that; what its headers give us does look.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
