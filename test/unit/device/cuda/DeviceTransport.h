// A transport whose arena is a fake GPU's: what GPUs do among themselves, in the tests of all transports.
#pragma once

#include "runtime/device/cuda/Communication.h"
#include "test/unit/device/cuda/FakeDriver.h"

namespace dgc::testing {

class DeviceTransport final : public rt::Transport {
public:
  /// `host` does what devices do not. `device` counts what they do.
  DeviceTransport(rt::Transport &host, FakeDriver &driver, int &operations)
      : inner(host), driver(driver), operations(operations) {}
  ~DeviceTransport() override {
    (void)communication->close();
    (void)driver.synchronize(stream);
    communication.reset();
    driver.release(mirror);
    driver.destroyStream(stream);
  }
  absl::Status open(const rt::cuda::RankGroups &groups, const rt::cuda::MakeNccl &makeNccl) {
    auto made = driver.createStream();
    auto memory = driver.allocate(inner.sharedArena().size());
    if (!made.ok() || !memory.ok())
      return absl::InternalError("no stream or memory");
    stream = *made;
    mirror = *memory;
    auto created = rt::cuda::Communication::create(groups, driver, stream, inner, mirror, makeNccl);
    if (!created.ok())
      return created.status();
    communication = *std::move(created);
    return absl::OkStatus();
  }
  const rt::cuda::Communication &gpuCommunication() const { return *communication; }

  int rank() const override { return inner.rank(); }
  int worldSize() const override { return inner.worldSize(); }
  std::string_view name() const override { return inner.name(); }
  std::span<std::byte> sharedArena() override { return inner.sharedArena(); }
  rt::ProgressWord &progress() override { return inner.progress(); }
  const rt::WaitRecord &waits() override { return inner.waits(); }
  absl::Status barrier() override { return inner.barrier(); }
  std::unique_ptr<rt::PreparedCollective> prepareBarrier(const std::vector<uint32_t> &group) override {
    return inner.prepareBarrier(group);
  }
  rt::Abort &interruption() override { return inner.interruption(); }
  double timeoutSeconds() const override { return inner.timeoutSeconds(); }

  absl::StatusOr<std::unique_ptr<rt::PreparedCollective>> prepare(const rt::CollectiveDesc &desc) override {
    auto byHost = inner.prepare(desc);
    if (!byHost.ok())
      return byHost.status();
    auto made = communication->prepare(desc);
    if (!made.ok())
      return made.status();
    if (!made->op)
      return byHost;
    auto op = std::make_unique<Op>(*this, std::move(made->op));
    size_t size = rt::sizeOf(desc.dtype);
    auto add = [&](const auto &range) {
      op->sent.push_back({range.src, range.srcCount * size});
      op->received.push_back({range.dst, range.dstCount * size});
    };
    add(desc);
    for (const auto &range : desc.more)
      add(range);
    return op;
  }
  absl::StatusOr<std::unique_ptr<rt::PreparedCollective>> prepareSend(uint32_t channel, int to,
                                                                      std::span<const std::byte> memory) override {
    auto byHost = inner.prepareSend(channel, to, memory);
    if (!byHost.ok())
      return byHost.status();
    auto at = static_cast<uint64_t>(memory.data() - sharedArena().data());
    auto made = communication->prepareSend(channel, static_cast<uint32_t>(to), mirror + at, memory.size());
    if (!made.ok() || !made->op)
      return made.ok() ? std::move(byHost) : absl::StatusOr<std::unique_ptr<rt::PreparedCollective>>(made.status());
    auto op = std::make_unique<Op>(*this, std::move(made->op));
    op->sent.push_back({at, memory.size()});
    return op;
  }
  absl::StatusOr<std::unique_ptr<rt::PreparedCollective>> prepareReceive(uint32_t channel, int from,
                                                                         std::span<std::byte> memory) override {
    auto byHost = inner.prepareReceive(channel, from, memory);
    if (!byHost.ok())
      return byHost.status();
    auto to = driver.allocate(memory.size());
    if (!to.ok())
      return to.status();
    auto made = communication->prepareReceive(channel, static_cast<uint32_t>(from), *to, memory.size());
    if (!made.ok() || !made->op)
      return made.ok() ? std::move(byHost) : absl::StatusOr<std::unique_ptr<rt::PreparedCollective>>(made.status());
    auto op = std::make_unique<Op>(*this, std::move(made->op));
    op->buffer = *to;
    op->into = memory;
    return op;
  }

private:
  struct Range {
    uint64_t offset, bytes;
  };
  /// Takes what is sent from the host, and gives it what was received.
  struct Op final : rt::PreparedCollective {
    Op(DeviceTransport &owner, std::unique_ptr<rt::PreparedCollective> op) : owner(owner), op(std::move(op)) {}
    ~Op() override {
      if (buffer)
        owner.driver.release(buffer);
    }
    absl::Status run() override {
      ++owner.operations;
      give();
      absl::Status status = op->run();
      return status.ok() ? take() : status;
    }
    absl::Status start() override {
      give();
      return op->start();
    }
    absl::Status finish() override {
      ++owner.operations;
      absl::Status status = op->finish();
      return status.ok() ? take() : status;
    }
    void give() {
      for (const Range &range : sent)
        std::memcpy(owner.driver.host(owner.mirror) + range.offset, owner.sharedArena().data() + range.offset,
                    range.bytes);
    }
    absl::Status take() {
      if (absl::Status s = owner.communication->await(owner.stream); !s.ok())
        return s;
      for (const Range &range : received)
        std::memcpy(owner.sharedArena().data() + range.offset, owner.driver.host(owner.mirror) + range.offset,
                    range.bytes);
      if (buffer)
        std::memcpy(into.data(), owner.driver.host(buffer), into.size());
      return absl::OkStatus();
    }
    DeviceTransport &owner;
    std::unique_ptr<rt::PreparedCollective> op;
    std::vector<Range> sent, received;
    Address buffer = 0;
    std::span<std::byte> into;
  };

  rt::Transport &inner;
  FakeDriver &driver;
  int &operations;
  rt::cuda::Driver::Stream stream = nullptr;
  Address mirror = 0;
  std::unique_ptr<rt::cuda::Communication> communication;
};

} // namespace dgc::testing
