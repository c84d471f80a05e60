// What the unit tests include; precompiled once.
#include "cmake/RuntimePch.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <regex>
