// Turns events of a run into those of TensorBoard.
#include "runtime/telemetry/TensorBoard.h"

#include "runtime/artifact/Spelling.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/telemetry/PlanSummary.h"
#include "runtime/telemetry/tensorboard.pb.h"

#include <algorithm>
#include <chrono>
#include <sstream>

using namespace dgc::rt;

double dgc::rt::wallTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// As code, in which nothing is markup.
static std::string code(std::string_view text) {
  std::string shown = printable(text.empty() ? "none" : text);
  std::replace(shown.begin(), shown.end(), '`', '\'');
  return str("`", shown, "`");
}

std::string dgc::rt::describeRun(const artifact::Plan &plan, std::string_view digest, uint64_t seed) {
  std::string table = "| | |\n|---|---|\n";
  auto row = [&](std::string_view name, std::string_view value) { table += str("| ", name, " | ", value, " |\n"); };
  auto view = [](const flatbuffers::String *text) { return text ? text->string_view() : std::string_view(); };
  row("plan", code(view(plan.model())));
  row("digest", code(digest));
  row("by", code(view(plan.producer())));
  row("workers", code(workersText(plan)));
  row("seed", code(str(seed)));
  for (uint32_t i = 0; plan.options() && i < plan.options()->size(); ++i) {
    const artifact::CompilerOption &option = *plan.options()->Get(i);
    row(code(view(option.name())), str(code(view(option.value())), " (", spelled(option.origin()), ")"));
  }
  return table;
}

std::string dgc::rt::describePlan(const artifact::Plan &plan) {
  std::string code; // whose lines are indented
  std::istringstream lines(summarize(plan));
  for (std::string line; std::getline(lines, line);)
    code += "    " + printable(line) + "\n";
  return code;
}

std::string dgc::rt::tagOf(std::string_view group, std::string_view name) {
  std::string tag = str(group, "/", name);
  for (char &c : tag) {
    const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!isLetter && !(c >= '0' && c <= '9') && std::string_view("_./-").find(c) == std::string_view::npos)
      c = '_';
  }
  return tag;
}

/// A tag is once in a summary: of equal ones the second gets _2, and so on.
static void addNumber(tensorboard::Summary &summary, std::string_view group, std::string_view name, double number) {
  const std::string tag = tagOf(group, name);
  std::string unique = tag;
  const auto &values = summary.value();
  for (int n = 2; std::any_of(values.begin(), values.end(), [&](const auto &each) { return each.tag() == unique; });
       ++n)
    unique = str(tag, "_", n);
  tensorboard::Value &value = *summary.add_value();
  value.set_tag(unique);
  value.set_simple_value(static_cast<float>(number));
}

static void addScalars(tensorboard::Summary &summary, std::string_view group, const LogEvent &event) {
  if (event.loss)
    addNumber(summary, group, "loss", *event.loss);
  for (const Metric &metric : event.metrics)
    if (metric.shape.empty())
      addNumber(summary, group, metric.name, metric.reported());
}

absl::StatusOr<std::unique_ptr<TensorBoard>> TensorBoard::open(Disk &disk, Clock &clock, const std::string &folder,
                                                               std::function<double()> wallTime) {
  auto file = EventFile::create(disk, folder, static_cast<int64_t>(wallTime()));
  if (!file.ok())
    return annotate(file.status(), "--tensorboard");
  return std::unique_ptr<TensorBoard>(new TensorBoard(*std::move(file), clock, std::move(wallTime)));
}

TensorBoard::TensorBoard(std::unique_ptr<EventFile> file, Clock &clock, std::function<double()> wallTime)
    : file(std::move(file)), clock(clock), wallTime(std::move(wallTime)),
      lastStep(std::make_unique<tensorboard::Event>()) {}

TensorBoard::~TensorBoard() {
  writeStep();
  flush().IgnoreError();
}

static void addText(tensorboard::Summary &summary, const std::string &tag, const std::string &text) {
  tensorboard::Value &value = *summary.add_value();
  value.set_tag(tag);
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value.mutable_tensor()->set_dtype(tensorboard::Tensor::STRING);
  value.mutable_tensor()->mutable_tensor_shape();
  value.mutable_tensor()->add_string_val(text);
}

absl::Status TensorBoard::begin(int64_t stepsDone, const Description &description) {
  tensorboard::Event version, start;
  version.set_wall_time(wallTime());
  version.set_file_version("brain.Event:2");
  write(version);

  const int64_t first = stepsDone == 0 ? 0 : stepsDone + 1;
  start.set_wall_time(wallTime());
  start.set_step(first);
  start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  write(start);

  for (const auto &[tag, text] : description.texts) {
    tensorboard::Event event;
    event.set_wall_time(wallTime());
    event.set_step(first);
    addText(*event.mutable_summary(), tag, text);
    write(event);
  }
  if (!description.graph.empty()) {
    tensorboard::Event graph;
    graph.set_wall_time(wallTime());
    graph.set_step(first);
    graph.set_graph_def(description.graph);
    write(graph);
  }
  return flush();
}

absl::Status TensorBoard::add(const LogEvent &event) {
  if (event.event == "step") {
    addStep(event);
    return clock.now() - lastFlush < flushPeriod ? absl::OkStatus() : flush();
  }
  if (event.event == "epoch" || event.event == "evaluate")
    addMeans(event.event == "epoch" ? "epoch" : "test", event);
  else if (event.event == "end" || event.event == "error")
    writeStep();
  return flush();
}

/// An empty bucket in front of one says where that begins.
static void write(const ValueHistogram &histogram, tensorboard::Histogram &to) {
  to.set_min(histogram.least);
  to.set_max(histogram.most);
  to.set_num(static_cast<double>(histogram.count));
  to.set_sum(histogram.sum);
  to.set_sum_squares(histogram.squares);
  auto add = [&](int bucket, uint64_t count) {
    to.add_bucket_limit(ValueHistogram::limit(bucket));
    to.add_bucket(static_cast<double>(count));
  };
  std::optional<int> last;
  for (const auto &[bucket, count] : histogram.buckets) {
    if (last != bucket - 1)
      add(bucket - 1, 0);
    add(bucket, count);
    last = bucket;
  }
}

absl::Status TensorBoard::add(int64_t stepsDone, const std::map<std::string, ValueHistogram> &variables) {
  tensorboard::Event event;
  event.set_wall_time(wallTime());
  event.set_step(stepsDone);
  for (const auto &[name, histogram] : variables) {
    if (histogram.count == 0)
      continue;
    tensorboard::Value &value = *event.mutable_summary()->add_value();
    value.set_tag(tagOf("variables", name));
    ::write(histogram, *value.mutable_histo());
  }
  if (event.summary().value_size() > 0)
    write(event);
  return flush();
}

void TensorBoard::addStep(const LogEvent &event) {
  const double ms = event.ms.value_or(0);
  if (ms > 0) {
    samples += event.samplesPerSecond.value_or(0) * ms * 1e-3;
    time += ms;
  }
  stepTime = clock.now();
  lastStep->set_wall_time(wallTime());
  lastStep->set_step(event.step.value_or(0) + 1);
  tensorboard::Summary &summary = *lastStep->mutable_summary();
  summary.Clear();
  addScalars(summary, "train", event);
  if (time > 0)
    addNumber(summary, "train", "samples_per_second", samples / time * 1e3);
  isHeld = true;
  if (isFirst || stepTime - lastPoint >= pointPeriod)
    writeStep();
}

void TensorBoard::addMeans(std::string_view group, const LogEvent &event) {
  writeStep();
  tensorboard::Event means;
  means.set_wall_time(wallTime());
  means.set_step(event.step.value_or(0));
  addScalars(*means.mutable_summary(), group, event);
  if (means.summary().value_size() > 0)
    write(means);
}

void TensorBoard::write(tensorboard::Event &event) { file->add(event.SerializeAsString()); }

/// Writes the last step if it is not written yet.
void TensorBoard::writeStep() {
  if (!isHeld)
    return;
  write(*lastStep);
  isHeld = isFirst = false;
  samples = time = 0;
  lastPoint = stepTime;
}

absl::Status TensorBoard::flush() {
  lastFlush = clock.now();
  return annotate(file->flush(), "--tensorboard");
}
