// Options of phases: plain structs that list their fields once.
//
//   struct ShardOptions {
//     MeshShape mesh;
//     template <class Binder> void bind(Binder &b) { b("mesh", mesh, "axes with their sizes"); }
//   };
//
// From that list come the options of the named pipeline that runs the phase alone, `dgc-opt --dgc-shard-pipeline`, and
// the text of `dgc-compile --print-options`.

#ifndef DGC_PASSES_ANALYSIS_PHASEOPTIONSTEXT_H
#define DGC_PASSES_ANALYSIS_PHASEOPTIONSTEXT_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/analysis/OptionTypes.h"
#include <memory>

namespace dgc {

/// A struct of options in the form that MLIR's pass registry parses and prints.
template <class T> class PhaseOptionsText : public mlir::PassPipelineOptions<PhaseOptionsText<T>> {
  using Base = mlir::PassPipelineOptions<PhaseOptionsText<T>>;
  template <class V> using One = Base::template Option<V>;
  template <class V> using Many = Base::template ListOption<V>;

  /// An option of any type.
  struct Held {
    virtual ~Held() = default;
  };
  template <class O> struct HeldOption : Held {
    template <class... Args> explicit HeldOption(Args &&...args) : option(std::forward<Args>(args)...) {}
    O option;
  };

  struct Adder {
    PhaseOptionsText &parent;
    template <class V> void operator()(const char *name, const V &field, const char *help) {
      parent.held.push_back(
          std::make_unique<HeldOption<One<V>>>(parent, name, llvm::cl::desc(help), llvm::cl::init(field)));
    }
    template <class V> void operator()(const char *name, const std::vector<V> &field, const char *help) {
      auto held = std::make_unique<HeldOption<Many<V>>>(parent, name, llvm::cl::desc(help));
      if (!field.empty())
        held->option = llvm::ArrayRef<V>(field);
      parent.held.push_back(std::move(held));
    }
  };
  struct Reader {
    const PhaseOptionsText &parent;
    size_t next = 0;
    template <class V> void operator()(const char *, V &field, const char *) {
      field = static_cast<const HeldOption<One<V>> &>(*parent.held[next++]).option.getValue();
    }
    template <class V> void operator()(const char *, std::vector<V> &field, const char *) {
      Many<V> &values = static_cast<HeldOption<Many<V>> &>(*parent.held[next++]).option;
      field.assign(values.begin(), values.end());
    }
  };

public:
  PhaseOptionsText() : PhaseOptionsText(T()) {}
  explicit PhaseOptionsText(T given) {
    Adder adder{*this};
    given.bind(adder);
  }
  T value() const {
    T result;
    Reader reader{*this};
    result.bind(reader);
    return result;
  }

private:
  std::vector<std::unique_ptr<Held>> held; // in the order of T::bind
};

/// The options as a pipeline takes them: "{mesh=data=2 zero=1 ..}".
template <class T> std::string textOf(const T &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  PhaseOptionsText<T>(options).print(os);
  return text;
}

/// Registers `build` as the pipeline of this name.
template <class T>
void registerPhasePipeline(llvm::StringRef name, llvm::StringRef summary,
                           void (*build)(mlir::OpPassManager &, const T &)) {
  mlir::PassPipelineRegistration<PhaseOptionsText<T>> registration(
      name, summary,
      [build](mlir::OpPassManager &manager, const PhaseOptionsText<T> &options) { build(manager, options.value()); });
}

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_PHASEOPTIONSTEXT_H
