// What there is to be checked, in a few seconds and before anything runs.
#pragma once

#include <string>
#include <vector>

/// Prints, line by line: dgc and this machine, the GPUs with what is free and their clocks, the driver, the libraries.
/// Whether there is a GPU.
bool printPreflight();

/// The same by another process, as a driver may hang: prints it, and gives the lines. `isHung`: it did not end.
std::vector<std::string> runPreflight(const std::string &program, bool &isHung);
