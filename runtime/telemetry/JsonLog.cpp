// Writes lines of JSON.
#include "runtime/telemetry/JsonLog.h"

#include "runtime/telemetry/MetricText.h"

#include <charconv>
#include <cmath>
#include <utility>

using namespace dgc::rt;

static void appendString(std::string_view text, std::string &out) {
  static const char hex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20) {
      out += "\\u00";
      out += hex[u >> 4];
      out += hex[u & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

static void appendNumber(double value, std::string &out) {
  char text[32];
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

static void appendNumber(int64_t value, std::string &out) {
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void dgc::rt::appendJson(const LogEvent &event, std::string &out) {
  out += "{\"event\":";
  appendString(event.event, out);
  auto number = [&](std::string_view key, const auto &value) {
    if (!value)
      return;
    out += ",\"";
    out += key;
    out += "\":";
    using Value = std::decay_t<decltype(*value)>;
    if constexpr (std::is_integral_v<Value>)
      appendNumber(static_cast<int64_t>(*value), out);
    else
      appendNumber(*value, out);
  };
  number("call", event.call);
  number("step", event.step);
  number("epoch", event.epoch);
  number("loss", event.loss);
  if (!event.metrics.empty()) {
    out += ",\"metrics\":";
    char before = '{';
    forEachMetric(event.metrics, [&](std::span<const Metric> elements) {
      out += std::exchange(before, ',');
      appendString(elements.front().name, out);
      out += ':';
      appendNested(elements, [&](double value) { appendNumber(value, out); }, out);
    });
    out += '}';
  }
  number("ms", event.ms);
  number("samples_per_s", event.samplesPerSecond);
  number("rank", event.rank);
  if (!event.message.empty()) {
    out += ",\"message\":";
    appendString(event.message, out);
  }
  out += "}\n";
}

void dgc::rt::dropPartialLine(std::string &lines) {
  lines.resize(lines.rfind('\n') + 1); // npos + 1 is 0
}

absl::StatusOr<std::unique_ptr<JsonLog>> JsonLog::open(Disk &disk, Clock &clock, const std::string &path,
                                                       const JsonLogOptions &options) {
  auto output = OutputFile::reserve(disk, path);
  if (!output.ok())
    return annotate(output.status(), "--log-json");
  std::string before;
  if (options.isContinued && path != "-" && disk.isReplaceable(path) && disk.exists(path)) {
    auto read = readFile(disk, path);
    if (!read.ok())
      return annotate(read.status(), "--log-json");
    before = *std::move(read);
    dropPartialLine(before);
  }
  auto file = output->begin(before);
  if (!file.ok())
    return annotate(file.status(), "--log-json");
  return std::unique_ptr<JsonLog>(new JsonLog(*std::move(output), *std::move(file), clock, options.holdsBack));
}

JsonLog::JsonLog(OutputFile output, std::unique_ptr<WritableFile> file, Clock &clock, bool holdsBack)
    : output(std::move(output)), file(std::move(file)), clock(clock), holdsBack(holdsBack), lastFlush(clock.now()) {
  held.reserve(1 << 16);
}

JsonLog::~JsonLog() { flush().IgnoreError(); }

absl::Status JsonLog::add(const LogEvent &event) {
  if (!status.ok())
    return status;
  appendJson(event, held);
  bool wait = holdsBack && event.event == "step" && held.size() < (1 << 15) && clock.now() - lastFlush < 500_ms;
  return wait ? status : flush();
}

absl::Status JsonLog::flush() {
  lastFlush = clock.now();
  if (status.ok() && !held.empty())
    status = annotate(file->write(held), "--log-json");
  held.clear();
  return status;
}
