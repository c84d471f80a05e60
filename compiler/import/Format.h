// What the text or the bytes of a file are. Without LLVM, so that programs of the runtime can ask.

#ifndef DGC_COMPILER_IMPORT_FORMAT_H
#define DGC_COMPILER_IMPORT_FORMAT_H

#include <string_view>

namespace dgc::import {

/// JaxExport: what `jax.export.Exported.serialize` writes, with a portable artifact somewhere in it.
enum class Format { Dgc, StableHLO, PortableArtifact, Onnx, JaxExport };

/// Whether the text has an op of the dialect outside of comments.
inline bool mentions(std::string_view text, std::string_view dialect) {
  for (size_t at = text.find(dialect); at != std::string_view::npos; at = text.find(dialect, at + 1)) {
    const bool isWhole = at == 0 || std::string_view(" \t\r\n\"(=").find(text[at - 1]) != std::string_view::npos;
    const size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1; // npos + 1 is 0
    if (isWhole && text.substr(line, at - line).find("//") == std::string_view::npos)
      return true;
  }
  return false;
}

/// Tells by the content. What is none of the others may be a model of dgc.
inline Format formatOf(std::string_view content) {
  if (content.starts_with("ML\xEFR"))
    return content.find("vhlo") != std::string_view::npos ? Format::PortableArtifact : Format::StableHLO;
  // A message of protobuf whose first field is the version of ONNX's format.
  if (content.size() > 2 && content[0] == 0x08 && content[1] > 0 && content[1] < 32)
    return Format::Onnx;
  if (content.find("ML\xEFR") != std::string_view::npos)
    return Format::JaxExport;
  if (mentions(content, "stablehlo.") || mentions(content, "chlo."))
    return Format::StableHLO;
  // A function that gives its arguments back has no ops.
  if (mentions(content, "func.func") && content.find("dgc.") == std::string_view::npos &&
      content.find("dist.") == std::string_view::npos)
    return Format::StableHLO;
  return Format::Dgc;
}

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_FORMAT_H
