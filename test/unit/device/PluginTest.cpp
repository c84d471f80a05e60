// Plug-ins of other builds are refused before they are used.
#include "runtime/device/Plugin.h"
#include "runtime/base/ExitCode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

using namespace dgc;
using namespace dgc::rt;
using ::testing::HasSubstr;

namespace {

std::string refusalOf(const char *folder) {
  ::setenv("DGC_PLUGINS", folder, 1);
  absl::StatusOr<const DevicePlugin *> plugin = openPlugin("cuda");
  ::unsetenv("DGC_PLUGINS");
  EXPECT_FALSE(plugin.ok());
  EXPECT_EQ(exitCodeOf(plugin.status()), ExitCode::Machine);
  return std::string(plugin.status().message());
}

TEST(Plugin, OneWithoutANumberIsRefused) {
  EXPECT_THAT(refusalOf(DGC_OLD_PLUGIN), HasSubstr("libdgc_cuda.so is of an older dgc, this is a dgc with interface"));
}

TEST(Plugin, OneOfAnotherNumberIsRefused) {
  EXPECT_THAT(refusalOf(DGC_OTHER_PLUGIN), HasSubstr("libdgc_cuda.so is of another build of dgc, with interface 1000, "
                                                     "this is a dgc with interface"));
}

TEST(Plugin, AnotherKindIsRefused) {
  absl::StatusOr<const DevicePlugin *> plugin = openPlugin("abacus");
  EXPECT_THAT(std::string(plugin.status().message()), HasSubstr("the plan is for 'abacus' devices"));
}

} // namespace
