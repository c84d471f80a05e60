#include "tools/dgc-run/JobLog.h"

#include "runtime/base/Disk.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Status.h"
#include "runtime/telemetry/JsonLog.h"

using namespace dgc;
using namespace dgc::rt;

void dgc::tool::writeLog(const std::string &path, std::string text, const std::string &message, const Notice &notice) {
  LogEvent event{"error"};
  event.message = message;
  appendJson(event, text);
  absl::Status written = path == "-" ? standardOutput()->write(text) : writeFileAtomically(realDisk(), path, text);
  if (!written.ok())
    notice(str("warning: --log-json: ", std::string(written.message())));
}

void dgc::tool::emptyLog(const std::string &path) {
  if (path.empty() || path == "-" || !realDisk().isReplaceable(path))
    return;
  if (auto file = OutputFile::reserve(realDisk(), path); file.ok())
    file->begin().status().IgnoreError();
}

void dgc::tool::endLog(const std::string &path, const std::string &message, const Notice &notice) {
  if (path.empty())
    return;
  std::string text;
  if (path != "-" && realDisk().exists(path) && realDisk().isReplaceable(path))
    if (auto read = readFile(realDisk(), path); read.ok())
      text = *std::move(read);
  dropPartialLine(text);
  size_t last = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  std::string_view line = std::string_view(text).substr(last);
  if (line.starts_with("{\"event\":\"end\"") || line.starts_with("{\"event\":\"error\""))
    return;
  writeLog(path, std::move(text), message, notice);
}
