// What the unit tests include; precompiled once.
#include "cmake/RuntimePch.h"
#include "runtime/collective/Transport.h"
#include "runtime/device/Device.h"
#include "runtime/executor/RunOnce.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <regex>
