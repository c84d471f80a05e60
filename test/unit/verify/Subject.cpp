#include "test/unit/verify/Subject.h"

#include "compiler/driver/ParsedModel.h"
#include "compiler/driver/Registration.h"
#include "compiler/verify/Model.h"
#include "mlir/IR/DialectRegistry.h"
#include "runtime/artifact/Enums.h"
#include "runtime/base/Status.h"
#include "test/unit/support/TransformerText.h"

#include <cmath>
#include <cstring>

using namespace dgc;
using namespace dgc::testing;

static const char *const perceptron = R"(
dgc.model @perceptron {
  %x = dgc.input "x" : tensor<?x5xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %w1 = dgc.variable "w1" normal 0 0.5 : tensor<5x7xf32>
  %b1 = dgc.variable "b1" normal 0 0.1 : tensor<7xf32>
  %w2 = dgc.variable "w2" normal 0 0.5 : tensor<7x3xf32>
  %b2 = dgc.variable "b2" zeros : tensor<3xf32>
  %h = dgc.dense %x, %w1, %b1
  %a = dgc.relu %h
  %logits = dgc.dense %a, %w2, %b2
  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer OPTIMIZER
}
)";

/// The loss is a mean over all tokens that there are.
static const char *const tokens = R"(
dgc.model @tokens {
  %x = dgc.input "x" : tensor<?x5x4xf32>
  %y = dgc.input "y" : tensor<?x5x3xf32>
  %counts = dgc.input "counts" : tensor<?x5xf32>
  %w = dgc.variable "w" normal 0 0.5 : tensor<4x3xf32>
  %h = dgc.matmul %x, %w
  %t = dgc.tanh %h
  %d = dgc.subtract %t, %y
  %q = dgc.multiply %d, %d
  %s = dgc.reduce sum %q dims [2]
  %p = dgc.multiply %s, %counts
  %sum = dgc.reduce sum %p dims [0, 1]
  %n = dgc.reduce sum %counts dims [0, 1]
  %loss = dgc.divide %sum, %n
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.5
}
)";

static const char *const convolution = R"(
dgc.model @convolution {
  %image = dgc.input "image" : tensor<?x6x6x2xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %k = dgc.variable "k" normal 0 0.4 : tensor<3x3x2x3xf32>
  %w = dgc.variable "w" normal 0 0.4 : tensor<27x4xf32>
  %b = dgc.variable "b" zeros : tensor<4xf32>
  %c = dgc.conv2d %image, %k padding same
  %r = dgc.relu %c
  %m = dgc.max_pool %r window [2, 2] strides [2, 2]
  %f = dgc.flatten %m
  %logits = dgc.dense %f, %w, %b
  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

static const char *const dropout = R"(
dgc.model @dropout {
  %x = dgc.input "x" : tensor<?x5xf32>
  %y = dgc.input "y" : tensor<?x3xf32>
  %w2 = dgc.variable "w2" normal 0 0.5 : tensor<5x3xf32>
  %a = dgc.repeat 2 "layer" (%in = %x) {
    %w1 = dgc.variable "w1" normal 0 0.5 : tensor<5x5xf32>
    %h = dgc.matmul %in, %w1
    %t = dgc.tanh %h
    %d = dgc.dropout %t rate 0.25
    dgc.next %d
  }
  %z = dgc.matmul %a, %w2
  %loss = dgc.mean_squared_error %z, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

static std::string withOptimizer(std::string model, const std::string &optimizer) {
  return model.replace(model.find("OPTIMIZER"), 9, optimizer);
}

static SubjectText subject(const std::string &name, const std::string &model, const std::string &mesh,
                           const std::string &strategy, int64_t batch, int64_t microbatches = 0) {
  SubjectText result{name, model, {}};
  result.options.from = "input";
  result.options.mesh = mesh;
  result.options.strategy = strategy;
  result.options.batch = batch;
  result.options.microbatches = microbatches;
  result.options.target = "reference";
  return result;
}

const std::vector<SubjectText> &dgc::testing::subjects() {
  static const std::vector<SubjectText> all = [] {
    const std::string sgd = withOptimizer(perceptron, "sgd learning_rate 0.1 momentum 0.9");
    const std::string adamw =
        withOptimizer(perceptron, "adamw learning_rate 0.01 weight_decay 0.1 clip_global_norm 0.5");
    TransformerSizes small;
    small.layers = 1;
    const std::string transformer = transformerText(small);
    small.layers = 2;
    const std::string deeper = transformerText(small);
    const std::string cut = "tensor-parallel=*query/*:-1+*key/*:-1+*value/*:-1+*up/*:-1";
    std::vector<SubjectText> list{
        subject("perceptron, data-parallel", sgd, "data=3", "data-parallel", 7),
        subject("perceptron, zero2, AdamW, clipped", adamw, "data=2", "zero2", 5),
        subject("perceptron, servers", sgd, "data=2", "parameter-server=2", 5),
        subject("tokens, micro-batches", tokens, "data=2", "data-parallel,accumulate=2", 7),
        subject("convolution, data-parallel", convolution, "data=2", "data-parallel", 3),
        subject("transformer, tensor and data", transformer, "data=2,model=2", cut + ",data-parallel", 3),
        subject("transformer, sequence", transformer, "model=2", cut + ",sequence-parallel", 2),
        subject("transformer, zero3", transformer, "data=3", "zero3", 4),
        subject("transformer, pipeline", deeper, "stage=2", "pipeline=1f1b", 4, 2),
        subject("dropout, recomputed", dropout, "data=2", "data-parallel,recompute=layer.*", 5),
        subject("perceptron, zero2, GPU", adamw, "data=2", "zero2", 5),
        subject("perceptron, overlap", sgd, "data=2", "data-parallel", 7),
    };
    SubjectText &gpu = list[list.size() - 2];
    gpu.options.target = "cuda:sm_90";
    gpu.options.withSemantics = true;
    list.back().options.overlap = true;
    list.back().options.links = "data=1ns:1MB/s"; // so slow that nothing is merged
    return list;
  }();
  return all;
}

static absl::StatusOr<verify::Model> modelOf(const std::string &text, const std::vector<uint8_t> &plan) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  ParsedModel parsed(registry, llvm::MemoryBuffer::getMemBufferCopy(text, "model.mlir"));
  std::string error;
  std::optional<CompileOptions> options = optionsFor(*artifact::GetPlan(plan.data()), error);
  mlir::FailureOr<verify::Model> model =
      options && parsed.module() ? modelOf(parsed.module(), *options) : mlir::FailureOr<verify::Model>();
  if (failed(model))
    return absl::InvalidArgumentError("no model: " + error);
  return *std::move(model);
}

absl::StatusOr<std::unique_ptr<Subject>> Subject::create(const SubjectText &text) {
  std::unique_ptr<Subject> subject(new Subject(text));
  DGC_ASSIGN_OR_RETURN(subject->bytes, compileText(text.model, text.options));
  DGC_ASSIGN_OR_RETURN(subject->model, ::modelOf(text.model, subject->bytes));
  bool isRefused = false;
  DGC_ASSIGN_OR_RETURN(verify::CheckResult verdict, subject->check(subject->bytes, isRefused));
  if (!verdict.isEqual())
    return absl::InternalError(verdict.difference);
  if (subject->isRunnable()) {
    DGC_ASSIGN_OR_RETURN(subject->expected, subject->run(subject->bytes));
  }
  return subject;
}

/// The exact check as tests run it.
static absl::StatusOr<verify::CheckResult> checked(const rt::Artifact &artifact, const verify::Model &model,
                                                   verify::LawSet leftOut) {
  verify::CheckOptions options;
  options.seed = 3;
  options.leftOut = leftOut;
  return verify::check(artifact, model, options);
}

absl::StatusOr<verify::CheckResult> Subject::check(const verify::Model &against, verify::LawSet leftOut) const {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<rt::Artifact> artifact, rt::loadBytes(bytes));
  return checked(*artifact, against, leftOut);
}

absl::StatusOr<verify::CheckResult> Subject::check(const std::vector<uint8_t> &plan, bool &isRefused) const {
  absl::StatusOr<std::unique_ptr<rt::Artifact>> artifact = rt::loadBytes(plan);
  isRefused = !artifact.ok();
  if (isRefused)
    return artifact.status();
  return checked(**artifact, model, {});
}

/// Numbers for the inputs of the program train.
NamedArrays Subject::inputsOf(int step) const {
  std::mt19937 random(static_cast<unsigned>(100 + step));
  NamedArrays arrays;
  for (const verify::ModelProgram &program : model.programs)
    for (const verify::ModelInput &input : program.inputs) {
      if (program.name != "train" || input.isVariable || input.role != artifact::InputRole::Data)
        continue;
      size_t count = 1;
      for (int64_t size : input.shape)
        count *= static_cast<size_t>(size);
      if (input.dtype == artifact::DType::F32) {
        std::vector<float> values(count);
        for (float &value : values)
          value = std::uniform_real_distribution<float>(-1, 1)(random);
        arrays[input.name] = HostArray::of(input.shape, values);
      } else {
        std::vector<int32_t> values(count);
        for (int32_t &value : values)
          value = static_cast<int32_t>(random() % std::max<uint64_t>(input.indexLimit, 1));
        arrays[input.name] = HostArray::of(input.shape, values);
      }
    }
  return arrays;
}

absl::StatusOr<std::vector<NamedArrays>> Subject::run(const std::vector<uint8_t> &plan) const {
  rt::RunOnceOptions options;
  options.program = "train";
  options.seed = 7;
  options.steps = 2;
  options.checkReplicas = false;
  options.inputsOfStep = [this](int step) { return inputsOf(step); };
  std::vector<NamedArrays> all;
  for (int valid : {-1, 2}) {
    options.validCount = valid;
    DGC_ASSIGN_OR_RETURN(rt::RunOnceResult result, rt::runOnce(plan, inputsOf(0), options));
    all.push_back(std::move(result.variables));
    all.insert(all.end(), result.outputsOfStep.begin(), result.outputsOfStep.end());
  }
  return all;
}

/// |a - b| / |b|; infinite where one of them is not finite. What is only rounding, as the gradient of the bias of keys is,
/// counts as 1e-3 an element.
static double distance(const HostArray &a, const HostArray &b) {
  if (a.bytes.size() != b.bytes.size() || a.dtype != b.dtype)
    return INFINITY;
  if (a.bytes == b.bytes)
    return 0;
  if (a.dtype != rt::DType::F32)
    return INFINITY;
  const std::vector<float> x = a.as<float>(), y = b.as<float>();
  double difference = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    difference += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
    norm += double{y[i]} * y[i];
  }
  const double relative = std::sqrt(difference / std::max(norm, 1e-6 * static_cast<double>(x.size())));
  return std::isnan(relative) ? INFINITY : relative;
}

double Subject::distanceOf(const std::vector<uint8_t> &plan, std::string &farthest) const {
  absl::StatusOr<std::vector<NamedArrays>> result = run(plan);
  if (!result.ok() || result->size() != expected.size()) {
    farthest = std::string(result.status().message());
    return INFINITY;
  }
  double most = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    for (const auto &[name, array] : expected[i]) {
      const double each = (*result)[i].contains(name) ? distance((*result)[i].at(name), array) : INFINITY;
      if (each > most)
        farthest = name;
      most = std::max(most, each);
    }
  return most;
}

Judgement Subject::judge(const Mutant &mutant) const {
  bool isRefused = false;
  absl::StatusOr<verify::CheckResult> verdict = check(mutant.bytes, isRefused);
  if (isRefused)
    return {Fate::Refused, std::string(verdict.status().message()), INFINITY};
  std::string farthest;
  const double distance = isRunnable() ? distanceOf(mutant.bytes, farthest) : 0;
  if (!verdict.ok())
    return {Fate::Found, "undecided: " + std::string(verdict.status().message()), distance, farthest};
  if (!verdict->isEqual())
    return {Fate::Found, verdict->difference, distance, farthest};
  if (!isRunnable())
    return {Fate::Equal};
  constexpr double rounding = 1e-5;
  return {distance <= rounding ? Fate::Equivalent : Fate::Missed, "", distance, farthest};
}
