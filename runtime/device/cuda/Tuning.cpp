// The file is {"gpu": NAME, "library": NAME AND VERSION, "products": {PRODUCT: NUMBER OF THE ALGORITHM, ..}}, and
// next to the entries of LaunchMode.h.
#include "runtime/device/cuda/Tuning.h"

#include <nlohmann/json.hpp>

namespace dgc::rt::cuda {

static constexpr uint64_t kMostBytes = 16 << 20;

std::string describeProduct(const Gemm &gemm) {
  auto matrix = [](const Matrices &m) {
    return str(m.rowStride, m.transposed ? "t" : "n", m.batchStride ? str("+", m.batchStride) : "");
  };
  constexpr const char *activations[] = {"", " relu", " gelu", " relu gradient", " gelu gradient"};
  constexpr const char *sums[] = {"", " sum", " sum of a", " sum of b"};
  const bool keeps = gemm.aux && gemm.activation <= Activation::Gelu;
  return str(nameOf(gemm.type), " ", gemm.batch, " x ", gemm.m, " x ", gemm.n, " x ", gemm.k, ", ", matrix(gemm.a), " ",
             matrix(gemm.b), " ", matrix(gemm.dst), gemm.hasBias ? " bias" : "",
             activations[static_cast<int>(gemm.activation)], keeps ? " kept" : "", sums[static_cast<int>(gemm.sums)],
             gemm.tf32 ? " tf32" : "");
}

Tuning::Tuning(Disk &disk, TuningOptions options, std::string gpu, std::string library)
    : disk(disk), options(std::move(options)), gpu(std::move(gpu)), library(std::move(library)) {
  if (!this->options.file.empty() && disk.exists(this->options.file))
    read();
}

void Tuning::read() {
  auto ignore = [&](const std::string &why) {
    choices.clear();
    warning_ = str(options.file, " is ignored: ", why, "; dgc-run --tune measures again");
  };
  absl::StatusOr<std::string> text = readFile(disk, options.file, kMostBytes);
  if (!text.ok())
    return ignore(std::string(text.status().message()));
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  auto isText = [&](const char *key) { return json.contains(key) && json[key].is_string(); };
  if (json.is_object() && isText("gpu") && json.contains("collectives")) {
    if (json["gpu"] == gpu)
      collectives = json["collectives"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (!json.contains("library") && !json.contains("products"))
      return; // those alone were measured
  }
  if (!json.is_object() || !isText("gpu") || !isText("library") || !json.contains("products") ||
      !json["products"].is_object())
    return ignore("it is no file of tuned products");
  for (auto [key, mine] : {std::pair{"gpu", &gpu}, {"library", &library}})
    if (json[key] != *mine)
      return ignore(str("it is for ", json[key].get<std::string>(), ", and here is ", *mine));
  for (const auto &[product, choice] : json["products"].items()) {
    if (!choice.is_number_unsigned())
      return ignore(str("the algorithm of '", product, "' is no number"));
    choices[product] = choice.get<size_t>();
  }
}

std::optional<size_t> Tuning::find(const std::string &product) const {
  auto it = choices.find(product);
  return it == choices.end() ? std::nullopt : std::optional(it->second);
}

void Tuning::keep(const std::string &product, size_t choice) {
  choices[product] = choice;
  changed = true;
}

absl::Status Tuning::save() {
  if (!changed || !options.keeps || options.file.empty())
    return absl::OkStatus();
  changed = false;
  nlohmann::ordered_json json = {{"gpu", gpu}, {"library", library}, {"products", choices}};
  if (!collectives.empty())
    json["collectives"] = nlohmann::ordered_json::parse(collectives);
  return writeFileAtomically(disk, options.file,
                             json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

} // namespace dgc::rt::cuda
