// Programs as graphs. One stream computes, another copies what the host exchanges in between:
//
//   stream     [segment 0] computed          arrived [segment 1] ..
//   transfers              computed [to host]  ..  [to device] arrived
//   host                            waits, communicates
//
// `computed` keeps a copy behind the segments that make its value, and `arrived` a segment behind the copies to the
// device. Segments that are launched between the two copies of an exchange run beside it.
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <cstring>

namespace dgc::rt::cuda {

class GraphProgram final : public DeviceProgram {
public:
  /// Inputs and outputs go through pinned memory of the program.
  struct Copy {
    Mirrored mirrored;
    std::byte *staging;
  };
  explicit GraphProgram(CudaDevice &device) : device(device), driver(*device.driver) {}

  absl::Status record(const ProgramParts &parts);

  absl::Status begin() override {
    for (const Copy &copy : inputs)
      std::memcpy(copy.staging, copy.mirrored.host.data(), copy.mirrored.host.size());
    return absl::OkStatus();
  }

  absl::Status launch(size_t segment) override {
    DGC_RETURN_IF_ERROR(awaitArrivals());
    return graphs[segment] ? driver.launchGraph(graphs[segment], device.stream) : absl::OkStatus();
  }

  absl::Status toHost(size_t exchange) override {
    // Also where nothing is taken: what is brought later may lie where segments still work.
    DGC_RETURN_IF_ERROR(driver.record(device.computed, device.stream));
    DGC_RETURN_IF_ERROR(driver.wait(device.transfers, device.computed));
    for (const Mirrored &each : exchanges[exchange].toHost)
      DGC_RETURN_IF_ERROR(
          driver.copyToHost(each.host.data(), addressOf(each.device), each.host.size(), device.transfers));
    return device.await(device.transfers);
  }

  absl::Status toDevice(size_t exchange) override {
    for (const Mirrored &each : exchanges[exchange].toDevice)
      DGC_RETURN_IF_ERROR(
          driver.copyToDevice(addressOf(each.device), each.host.data(), each.host.size(), device.transfers));
    isArriving |= !exchanges[exchange].toDevice.empty();
    return absl::OkStatus();
  }

  absl::Status settle() override { return awaitArrivals(); }

  absl::Status end() override {
    DGC_RETURN_IF_ERROR(awaitArrivals());
    DGC_RETURN_IF_ERROR(device.await(device.stream));
    for (const Copy &copy : outputs)
      std::memcpy(copy.mirrored.host.data(), copy.staging, copy.mirrored.host.size());
    return absl::OkStatus();
  }

private:
  absl::Status awaitArrivals() {
    if (!isArriving)
      return absl::OkStatus();
    isArriving = false;
    DGC_RETURN_IF_ERROR(driver.record(device.arrived, device.transfers));
    return driver.wait(device.stream, device.arrived);
  }
  absl::StatusOr<std::vector<Copy>> stage(const std::vector<Mirrored> &all);
  absl::Status queue(const ProgramParts &parts, size_t segment);

  CudaDevice &device;
  Driver &driver;
  std::vector<Driver::Graph> graphs; // of each segment; null: it does nothing
  std::vector<HostExchange> exchanges;
  std::vector<Copy> inputs, outputs;
  bool isArriving = false; // copies to the device are queued that nothing waits for
};

absl::StatusOr<std::vector<GraphProgram::Copy>> GraphProgram::stage(const std::vector<Mirrored> &all) {
  std::vector<Copy> copies;
  for (const Mirrored &mirrored : all) {
    if (mirrored.host.empty())
      continue;
    DGC_ASSIGN_OR_RETURN(std::byte * staging, device.allocateStaging(mirrored.host.size()));
    copies.push_back({mirrored, staging});
  }
  return copies;
}

/// What a segment does, onto the stream that is captured.
absl::Status GraphProgram::queue(const ProgramParts &parts, size_t segment) {
  if (segment == 0)
    for (const Copy &copy : inputs)
      DGC_RETURN_IF_ERROR(
          driver.copyToDevice(addressOf(copy.mirrored.device), copy.staging, copy.mirrored.host.size(), device.stream));
  for (PreparedOp *op : parts.segments[segment])
    DGC_RETURN_IF_ERROR(op->run({}));
  if (device.communication) // which does not go on from one graph to the next
    DGC_RETURN_IF_ERROR(device.communication->join());
  if (segment + 1 == parts.segments.size())
    for (const Copy &copy : outputs)
      DGC_RETURN_IF_ERROR(
          driver.copyToHost(copy.staging, addressOf(copy.mirrored.device), copy.mirrored.host.size(), device.stream));
  return absl::OkStatus();
}

absl::Status GraphProgram::record(const ProgramParts &parts) {
  DGC_ASSIGN_OR_RETURN(inputs, stage(parts.inputs));
  DGC_ASSIGN_OR_RETURN(outputs, stage(parts.outputs));
  exchanges = parts.exchanges;
  for (HostExchange &exchange : exchanges)
    for (std::vector<Mirrored> *copies : {&exchange.toHost, &exchange.toDevice})
      std::erase_if(*copies, [](const Mirrored &each) { return each.host.empty(); });
  for (size_t segment = 0; segment < parts.segments.size(); ++segment) {
    bool isEmpty = parts.segments[segment].empty() && (segment > 0 || inputs.empty()) &&
                   (segment + 1 < parts.segments.size() || outputs.empty());
    graphs.push_back(nullptr);
    if (isEmpty)
      continue;
    DGC_RETURN_IF_ERROR(driver.beginCapture(device.stream));
    absl::Status queued = queue(parts, segment);
    absl::StatusOr<Driver::Graph> graph = driver.endCapture(device.stream); // also after an error
    if (graph.ok())
      device.graphs.push_back(graphs.back() = *graph);
    if (!queued.ok() || !graph.ok())
      return annotate(queued.ok() ? graph.status() : queued, str("recording ", parts.name));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DeviceProgram>> CudaDevice::record(const ProgramParts &parts) {
  auto program = std::make_unique<GraphProgram>(*this);
  DGC_RETURN_IF_ERROR(program->record(parts));
  return program;
}

} // namespace dgc::rt::cuda
