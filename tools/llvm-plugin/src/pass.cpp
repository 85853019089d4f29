// The pass, as LLVM 22 wants it: in C++, since LLVM's C interface has neither passes nor diagnostics with a place.
//
// It hands a module of device code, as bitcode, to `bridge.rs`, and makes LLVM's diagnostics of what comes back.

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

// The types and values of `bridge.rs`.
extern "C" {
struct PtxcheckText {
  const char *Start;
  size_t Size;
};

struct PtxcheckDiagnostic {
  PtxcheckText Message;
  // Names of functions of the module, the kernel first; empty where there is none.
  PtxcheckText Functions[2];
  // Empty where no line is known.
  PtxcheckText File;
  uint32_t Line;
  uint32_t Column;
  // An error or a warning about the code; else a warning about the check itself, without a place.
  enum : uint32_t { Error, Warning, Failure } Kind;
};

using PtxcheckReport = void (*)(void *Context, const PtxcheckDiagnostic *);
using PtxcheckCheck = void (*)(PtxcheckText Bitcode, PtxcheckText Source, bool HasLines, void *Context, PtxcheckReport);
}

static StringRef text(const PtxcheckText &Text) { return StringRef(Text.Start, Text.Size); }

// The function that a finding is in; null where it is in none of this module.
static const Function *functionOf(const Module &M, const PtxcheckDiagnostic &Found) {
  for (const PtxcheckText &Name : Found.Functions)
    if (const Function *F = M.getFunction(text(Name)); F && !F->isDeclaration())
      return F;
  return nullptr;
}

// Any function with a body: diagnostics with a place want one.
static const Function *anyFunction(const Module &M) {
  for (const Function &F : M)
    if (!F.isDeclaration())
      return &F;
  return nullptr;
}

static DISubprogram *anyScope(const Module &M) {
  for (const Function &F : M)
    if (DISubprogram *Scope = F.getSubprogram())
      return Scope;
  return nullptr;
}

// The place, in nodes that nothing of the module refers to: it stays as it is. Without one, the function's declaration, which clang
// also finds for itself where there is no debug information.
static DiagnosticLocation placeOf(const Function &F, const PtxcheckDiagnostic &Found) {
  if (text(Found.File).empty())
    return F.getSubprogram() ? DiagnosticLocation(F.getSubprogram()) : DiagnosticLocation();
  DISubprogram *Function = F.getSubprogram() ? F.getSubprogram() : anyScope(*F.getParent());
  if (!Function)
    return DiagnosticLocation();
  // Such names as the compiler's own, which opt prints: relative to the folder of the compilation.
  StringRef Name = text(Found.File), Folder;
  if (const DICompileUnit *Unit = Function->getUnit()) {
    StringRef Rest = Name;
    if (Rest.consume_front(Unit->getDirectory()) && Rest.consume_front("/") && !Rest.empty()) {
      Name = Rest;
      Folder = Unit->getDirectory();
    }
  }
  LLVMContext &Context = F.getContext();
  DIFile *File = DIFile::get(Context, Name, Folder);
  auto *Scope = DILexicalBlockFile::get(Context, Function, File, 0);
  return DiagnosticLocation(DebugLoc(DILocation::get(Context, Found.Line, Found.Column, Scope)));
}

static void report(void *Context, const PtxcheckDiagnostic *Found) {
  const Module &M = *static_cast<const Module *>(Context);
  LLVMContext &C = M.getContext();
  const bool IsError = Found->Kind == PtxcheckDiagnostic::Error;
  // Diagnostics keep references to their text.
  Twine Message(text(Found->Message));
  const Function *F = functionOf(M, *Found);
  if (!F && !text(Found->File).empty())
    F = anyFunction(M);
  if (!F)
    C.diagnose(DiagnosticInfoGeneric(Message, IsError ? DS_Error : DS_Warning));
  else if (IsError)
    C.diagnose(DiagnosticInfoUnsupported(*F, Message, placeOf(*F, *Found), DS_Error));
  else
    C.diagnose(DiagnosticInfoOptimizationFailure("ptxcheck", "Finding", placeOf(*F, *Found), &F->getEntryBlock())
               << text(Found->Message));
}

namespace {
struct PtxcheckPass : PassInfoMixin<PtxcheckPass> {
  PtxcheckCheck Check;

  explicit PtxcheckPass(PtxcheckCheck Check) : Check(Check) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (M.getTargetTriple().isNVPTX()) {
      SmallVector<char, 0> Bitcode;
      raw_svector_ostream Stream(Bitcode);
      WriteBitcodeToFile(M, Stream);
      StringRef Source = M.getSourceFileName();
      Check({Bitcode.data(), Bitcode.size()}, {Source.data(), Source.size()}, anyScope(M) != nullptr, &M, report);
    }
    return PreservedAnalyses::all();
  }

  // At -O0 and for functions that are not to be optimised, too.
  static bool isRequired() { return true; }
};
} // namespace

extern "C" void ptxcheck_pass_register(PassBuilder *Builder, bool AtStart, PtxcheckCheck Check) {
  Builder->registerPipelineParsingCallback(
      [Check](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (Name != "ptxcheck")
          return false;
        Passes.addPass(PtxcheckPass(Check));
        return true;
      });
  if (AtStart)
    Builder->registerPipelineStartEPCallback(
        [Check](ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(PtxcheckPass(Check)); });
  else
    Builder->registerOptimizerLastEPCallback([Check](ModulePassManager &Passes, OptimizationLevel, ThinOrFullLTOPhase) {
      Passes.addPass(PtxcheckPass(Check));
    });
}
