// A cuDNN that tests watch: descriptors are kept as they are set, and what cuDNN would refuse is refused. It computes
// nothing. One at a time.
#pragma once

#include "runtime/device/cuda/Cudnn.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dgc::testing {

class FakeCudnn {
public:
  /// An engine that the heuristics recommend.
  struct Engine {
    std::vector<int32_t> notes;
    int64_t workspaceBytes = 0;
    bool supports = true; // its plan can be finalized
  };
  /// What was run: the engine, and the address of each tensor by its place among those of the graph.
  struct Run {
    size_t engine = 0;
    void *stream = nullptr, *workspace = nullptr;
    std::vector<void *> pointers;
  };

  FakeCudnn();
  ~FakeCudnn();
  /// The functions, for Cudnn::open().
  static rt::cuda::DnnApi api();

  std::map<int, std::vector<Engine>> engines; // of each mode of the heuristics
  std::vector<Run> runs;
  std::vector<int> asked; // modes of the heuristics, in order
  int graphs = 0;         // that were finalized
  size_t alive() const { return descriptors.size(); }
  bool hasHandle = false;

  struct Descriptor {
    int kind = 0;
    bool isFinal = false;
    std::map<int, std::vector<char>> values;
    int mode = 0;      // of an engine: of which heuristic
    size_t engine = 0; // and which of them

    template <typename T> std::vector<T> get(int attribute) const;
  };

private:
  friend struct FakeCudnnFunctions;
  int refuse(int status, const std::string &why);
  int create(int kind, void **out);
  int set(void *handle, int attribute, int type, int64_t count, const void *values);
  int finalize(void *handle);
  int get(void *handle, int attribute, int type, int64_t room, int64_t *count, void *values);
  int execute(void *plan, void *pack);
  Descriptor *find(void *handle);

  std::map<void *, std::unique_ptr<Descriptor>> descriptors;
  std::string last;
  void *stream = nullptr;
};

} // namespace dgc::testing
