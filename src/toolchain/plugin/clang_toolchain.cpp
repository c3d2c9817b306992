// The in-process compiler: clang 19 front end -> short pass pipeline -> object in memory -> ORC.
//
// Overview
//   Everything that includes LLVM or clang headers is in this file: such a file takes half a minute to build,
//   so there is one. The prelude is compiled once per process into a precompiled header that lives in memory;
//   every kernel is then parsed on top of it. No file is read or written: front end and PCH see an in-memory
//   file system only.
// How a compile runs
//   1. cc1 arguments (see `cc1_arguments`) -> CompilerInvocation; kernel text and PCH are files of the
//      in-memory system.
//   2. EmitLLVMOnlyAction gives a module; `-O3 -disable-llvm-passes` keeps it unoptimised but not optnone.
//   3. `kPipeline` runs under the new pass manager with the host's TargetMachine.
//   4. `make_comparisons_quiet` replaces ordered comparisons, see there.
//   5. The legacy pass manager emits an ELF object into memory. These bytes are also what the disk cache
//      stores.
//   6. LLJIT links the object into a JITDylib of its own; destroying the KernelLibrary removes the JITDylib
//      and its memory.
// Invariants
//   - compile() and load() may be called from several threads: one LLVMContext, TargetMachine and
//     CompilerInstance per call, the LLJIT is shared and thread safe, the PCH is built once under a lock.
//   - Kernels can call only what PluginConfig::find_import knows.
#include <chrono>
#include <mutex>

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Serialization/ASTWriter.h>
#include <llvm-c/Disassembler.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h>
#include <llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include "toolchain/object_compiler.h"

namespace suture {
namespace {

// What KernelSource::opt adds level by level; all of it has the kernel speed of default<O3> at two thirds of its
// time: no unrolling, no SLP, no second vectoriser round. instcombine is told not to verify that one round
// reached a fixpoint, which would be a fatal error of LLVM's.
constexpr const char* kNothing = "always-inline,function(lower-constant-intrinsics)";
constexpr const char* kWithinLoops =
    "function(sroa,early-cse,simplifycfg),cgscc(inline),"
    "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,lower-constant-intrinsics,"
    "simplifycfg)";
constexpr const char* kAcrossLoops =
    ",function(loop-simplify,lcssa,loop(loop-rotate),loop-mssa(licm),simplifycfg,"
    "instcombine<no-verify-fixpoint>,loop(indvars))";
constexpr const char* kVectors =
    ",function(loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse,"
    "instcombine<no-verify-fixpoint>)";

std::string pipeline(int opt) {
  if (opt == 0) return kNothing;
  return std::string(kWithinLoops) + (opt >= 2 ? kAcrossLoops : "") + (opt >= 3 ? kVectors : "");
}

llvm::CodeGenOptLevel codegen_level(int opt) {
  return opt == 0   ? llvm::CodeGenOptLevel::None
         : opt == 1 ? llvm::CodeGenOptLevel::Less
                    : llvm::CodeGenOptLevel::Default;
}

constexpr const char* kPreludePath = "/suture/prelude.h";
constexpr const char* kPchPath = "/suture/prelude.pch";
// The prelude is included, not the main file of its PCH: clang keeps a list of unused static functions of
// main files, and would read all of them back from the PCH at the end of every kernel.
constexpr const char* kPchMainPath = "/suture/main.h";
constexpr const char* kPchMain = "#include \"/suture/prelude.h\"\n";

using Clock = std::chrono::steady_clock;
double take_ms(Clock::time_point& since) {
  const auto now = Clock::now();
  const double ms = std::chrono::duration<double, std::milli>(now - since).count();
  since = now;
  return ms;
}

struct Host {
  std::string triple, cpu, features;  // features: "+avx2,-sse4a,..."
};

Host detect_host() {
  Host host{llvm::sys::getProcessTriple(), std::string(llvm::sys::getHostCPUName()), ""};
  llvm::SubtargetFeatures features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  host.features = features.getString();
  return host;
}

// cc1 defaults differ from the driver's, so everything that matters is given; math-errno is already off in
// cc1.
std::vector<std::string> cc1_arguments(const Host& host) {
  std::vector<std::string> args = {"-triple",
                                   host.triple,
                                   "-O3",
                                   "-disable-llvm-passes",
                                   "-ffp-contract=off",
                                   "-relaxed-aliasing",
                                   "-nostdsysteminc",
                                   "-nobuiltininc",
                                   "-std=c++20",
                                   "-mrelocation-model",
                                   "pic",
                                   "-pic-level",
                                   "2",
                                   "-vectorize-loops",
                                   "-mframe-pointer=none",
                                   "-mprefer-vector-width=512",
                                   "-Wno-everything",
                                   "-target-cpu",
                                   host.cpu};
  for (llvm::StringRef rest = host.features; !rest.empty();) {
    auto [feature, tail] = rest.split(',');
    args.insert(args.end(), {"-target-feature", feature.str()});
    rest = tail;
  }
  return args;
}

// Builds the prelude's PCH into memory.
class PchAction : public clang::ASTFrontendAction {
 public:
  explicit PchAction(std::shared_ptr<clang::PCHBuffer> buffer) : buffer_(std::move(buffer)) {}
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& ci,
                                                        llvm::StringRef) override {
    return std::make_unique<clang::PCHGenerator>(ci.getPreprocessor(), ci.getModuleCache(), kPchPath, "",
                                                 buffer_, ci.getFrontendOpts().ModuleFileExtensions,
                                                 /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }

 private:
  std::shared_ptr<clang::PCHBuffer> buffer_;
};

// One front-end run over `file` of `files`. Returns the diagnostics' text when it failed.
Status run_frontend(llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> files,
                    std::vector<std::string> args, clang::FrontendAction& action) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto* options = new clang::DiagnosticOptions();
  clang::TextDiagnosticPrinter printer(stream, options);
  clang::CompilerInstance ci;
  std::vector<const char*> argv;
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  clang::DiagnosticsEngine early(new clang::DiagnosticIDs(), options, &printer, /*ShouldOwnClient=*/false);
  bool ok = clang::CompilerInvocation::CreateFromArgs(ci.getInvocation(), argv, early);
  if (ok) {
    ci.createDiagnostics(&printer, /*ShouldOwnClient=*/false);
    ci.createFileManager(files);
    ci.setVerboseOutputStream(std::make_unique<llvm::raw_null_ostream>());
    ok = ci.ExecuteAction(action);
  }
  if (!ok) return Error::internal("toolchain", "clang rejected generated code:\n" + stream.str());
  return ok_status();
}

std::string to_string(llvm::Error error) { return llvm::toString(std::move(error)); }

class ClangLibrary : public KernelLibrary {
 public:
  ClangLibrary(std::shared_ptr<llvm::orc::LLJIT> jit, llvm::orc::JITDylib& dylib)
      : jit_(std::move(jit)), dylib_(dylib) {}
  ~ClangLibrary() override { llvm::consumeError(jit_->getExecutionSession().removeJITDylib(dylib_)); }
  suture_kernel_fn find(const std::string& symbol) const override {
    auto it = symbols.find(symbol);
    return it == symbols.end() ? nullptr : it->second;
  }
  llvm::orc::JITDylib& dylib() { return dylib_; }
  std::map<std::string, suture_kernel_fn> symbols;

 private:
  std::shared_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::JITDylib& dylib_;
};

class ClangCompiler : public ObjectCompiler {
 public:
  explicit ClangCompiler(const PluginConfig& config);
  std::string name() const override {
    return "clang " + std::to_string(LLVM_VERSION_MAJOR) + " (in process)";
  }
  std::string identity() const override { return name(); }
  Result<ObjectCode> compile(const KernelSource& source) override;
  Result<std::unique_ptr<KernelLibrary>> load(const std::string& object,
                                              const std::vector<std::string>& symbols) override;
  Result<std::string> disassemble(const std::string& object) override;

 private:
  Result<ObjectCode> compile_or_throw(const KernelSource& source);
  Status build_pch();
  Result<std::unique_ptr<llvm::Module>> parse(const KernelSource& source, llvm::LLVMContext& context);
  Result<std::unique_ptr<llvm::TargetMachine>> make_target(int opt) const;
  Result<std::shared_ptr<llvm::orc::LLJIT>> jit();
  llvm::Error define_imports(llvm::orc::JITDylib& dylib, llvm::StringRef object);

  PluginConfig config_;
  Host host_;
  std::mutex mutex_;  // guards pch_ and jit_
  std::shared_ptr<clang::PCHBuffer> pch_;
  std::shared_ptr<llvm::orc::LLJIT> jit_;
  std::atomic<int> dylib_count_ = 0;
};

// LLVM ends the process on what it calls fatal errors. Thrown instead, they pass through its frames (which
// leaks what those own, and runs no destructors there) and become an ordinary error of this one compile.
struct FatalError {
  std::string message;
};
[[noreturn]] void throw_fatal_error(void*, const char* message, bool) { throw FatalError{message}; }

ClangCompiler::ClangCompiler(const PluginConfig& config) : config_(config), host_(detect_host()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  llvm::InitializeNativeTargetDisassembler();
  llvm::install_fatal_error_handler(throw_fatal_error);
}

llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> file_system(std::string_view prelude) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->setCurrentWorkingDirectory("/suture");
  files->addFile(kPreludePath, 0, llvm::MemoryBuffer::getMemBuffer(prelude, kPreludePath));
  files->addFile(kPchMainPath, 0, llvm::MemoryBuffer::getMemBuffer(kPchMain, kPchMainPath));
  return files;
}

Status ClangCompiler::build_pch() {
  const std::lock_guard lock(mutex_);
  if (pch_) return ok_status();
  auto buffer = std::make_shared<clang::PCHBuffer>();
  std::vector<std::string> args = cc1_arguments(host_);
  // Without this flag every kernel would instantiate the templates that the prelude's own functions use.
  args.insert(args.end(), {"-fpch-instantiate-templates", "-x", "c++-header", kPchMainPath});
  PchAction action(buffer);
  SUTURE_TRY_VOID(run_frontend(file_system(config_.prelude), std::move(args), action));
  if (!buffer->IsComplete) return Error::internal("toolchain", "the prelude could not be precompiled");
  pch_ = std::move(buffer);
  return ok_status();
}

Result<std::unique_ptr<llvm::Module>> ClangCompiler::parse(const KernelSource& source,
                                                           llvm::LLVMContext& context) {
  auto files = file_system(config_.prelude);
  const llvm::StringRef pch(pch_->Data.data(), pch_->Data.size());
  files->addFile(kPchPath, 0,
                 llvm::MemoryBuffer::getMemBuffer(pch, kPchPath, /*RequiresNullTerminator=*/false));
  const std::string path = source.graph_name + ".cpp";
  files->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(source.cpp, path));
  std::vector<std::string> args = cc1_arguments(host_);
  args.insert(args.end(),
              {"-emit-llvm-only", "-include-pch", kPchPath, "-fno-validate-pch", "-x", "c++", path});
  // Version 4 of DWARF: everything that a reader of line tables needs is in one section.
  if (source.debug_info)
    args.insert(args.end(),
                {"-debug-info-kind=line-tables-only", "-dwarf-version=4", "-debugger-tuning=gdb"});
  clang::EmitLLVMOnlyAction action(&context);
  SUTURE_TRY_VOID(run_frontend(files, std::move(args), action));
  std::unique_ptr<llvm::Module> module = action.takeModule();
  if (!module) return Error::internal("toolchain", "clang gave no module");
  return module;
}

Result<std::unique_ptr<llvm::TargetMachine>> ClangCompiler::make_target(int opt) const {
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(host_.triple, message);
  if (!target) return Error::internal("toolchain", message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.EnableIPRA = true;  // loops keep values in the registers that a vector function leaves alone
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(host_.triple, host_.cpu, host_.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, codegen_level(opt), /*JIT=*/true));
  if (!machine) return Error::internal("toolchain", "no code generator for " + host_.triple);
  return machine;
}

// What debuggers see of a kernel. The loops bear the name of the user's function, the entry that of the kernel. The prelude
// is no place to step into: what is inlined from it belongs to the line that calls it.
void describe_to_debuggers(llvm::Module& module, const KernelSource& source) {
  for (llvm::Function& function : module) {
    llvm::DISubprogram* about = function.getSubprogram();
    if (!about) continue;
    const auto names = [&](const std::string& kernel) {
      return function.getName().contains(kernel);
    };  // mangled or not
    if (std::none_of(source.symbols.begin(), source.symbols.end(), names)) {
      function.setSubprogram(nullptr);
      for (llvm::Instruction& instruction : llvm::instructions(function)) instruction.setDebugLoc({});
    } else if (function.hasLocalLinkage()) {
      constexpr unsigned kName = 2, kLinkageName = 3;
      about->replaceOperandWith(kName, llvm::MDString::get(module.getContext(), source.function));
      about->replaceOperandWith(kLinkageName, nullptr);
    }
  }
}

// Tells the vectoriser about the vector forms of the prelude's functions (prelude/vector_types.h):
// suture_sin_f64 has suture_sin_f64_v and perhaps _w, whose types say how many lanes they take.
void declare_vector_forms(llvm::Module& module) {
  for (llvm::Function& function : module) {
    const std::string name = function.getName().str();
    std::string forms;
    for (const char* suffix : {"_v", "_w"}) {
      const llvm::Function* form = name.starts_with("suture_") ? module.getFunction(name + suffix) : nullptr;
      const auto* type = form ? llvm::dyn_cast<llvm::FixedVectorType>(form->getReturnType()) : nullptr;
      if (!type) continue;  // without AVX the calling convention hides the vectors
      if (!forms.empty()) forms += ',';
      forms += "_ZGV_LLVM_N" + std::to_string(type->getNumElements()) +
               std::string(function.arg_size(), 'v') + "_" + name + "(" + name + suffix + ")";
    }
    if (!forms.empty()) function.addFnAttr("vector-function-abi-variant", forms);
  }
}

// `<` and its relatives become comparisons that raise no flag for a quiet NaN. NumPy does not report them,
// and the replay that the flag would cause on every array with a NaN costs more than the kernel saves. A
// plain fcmp on vectors is selected as the signalling instruction, or fused with a select into vmaxpd, which
// signals too; the constrained intrinsic is selected as the quiet one. ("Ignore" means that it is not ordered
// against other operations.) Last IR step: no pass sees it.
void make_comparisons_quiet(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
      if (!compare || !compare->isRelational()) continue;
      llvm::IRBuilder<> builder(compare);
      llvm::Value* quiet = builder.CreateConstrainedFPCmp(llvm::Intrinsic::experimental_constrained_fcmp,
                                                          compare->getPredicate(), compare->getOperand(0),
                                                          compare->getOperand(1), "", llvm::fp::ebIgnore);
      compare->replaceAllUsesWith(quiet);
      compare->eraseFromParent();
    }
  }
}

Status optimise(llvm::Module& module, llvm::TargetMachine& machine, int opt) {
  declare_vector_forms(module);
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = opt >= 3;
  tuning.LoopInterleaving = false;  // same speed, less code to generate
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline(opt)))
    return Error::internal("toolchain", to_string(std::move(error)));
  passes.run(module, modules);
  make_comparisons_quiet(module);
  return ok_status();
}

Result<std::string> emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if (machine.addPassesToEmitMC(passes, context, stream))
    return Error::internal("toolchain", "the code generator cannot emit objects");
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

Result<ObjectCode> ClangCompiler::compile(const KernelSource& source) {
  try {
    return compile_or_throw(source);
  } catch (const FatalError& error) {
    return Error::internal("toolchain", "LLVM gave up: " + error.message);
  }
}

Result<ObjectCode> ClangCompiler::compile_or_throw(const KernelSource& source) {
  ObjectCode code;
  auto clock = Clock::now();
  SUTURE_TRY_VOID(build_pch());
  code.times.load = take_ms(clock);
  llvm::LLVMContext context;
  SUTURE_TRY(module, parse(source, context));
  if (source.debug_info) describe_to_debuggers(*module, source);
  code.times.frontend = take_ms(clock);
  SUTURE_TRY(machine, make_target(source.opt));
  module->setDataLayout(machine->createDataLayout());
  SUTURE_TRY_VOID(optimise(*module, *machine, source.opt));
  code.times.optimise = take_ms(clock);
  SUTURE_TRY(bytes, emit_object(*module, *machine));
  code.times.codegen = take_ms(clock);
  code.bytes = std::move(bytes);
  return code;
}

// Objects with debug sections are registered with gdb.
void tell_debuggers(llvm::orc::LLJIT& jit) {
  auto* layer = llvm::dyn_cast<llvm::orc::ObjectLinkingLayer>(&jit.getObjLinkingLayer());
  if (!layer) return;
  llvm::orc::ExecutionSession& session = jit.getExecutionSession();
  auto registrar = std::make_unique<llvm::orc::EPCDebugObjectRegistrar>(
      session, llvm::orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBWrapper));
  layer->addPlugin(std::make_unique<llvm::orc::DebugObjectManagerPlugin>(
      session, std::move(registrar), /*RequireDebugSections=*/true, /*AutoRegisterCode=*/true));
}

Result<std::shared_ptr<llvm::orc::LLJIT>> ClangCompiler::jit() {
  const std::lock_guard lock(mutex_);
  if (jit_) return jit_;
  llvm::orc::JITTargetMachineBuilder target((llvm::Triple(host_.triple)));
  target.setCPU(host_.cpu).setRelocationModel(llvm::Reloc::PIC_).setCodeModel(llvm::CodeModel::Small);
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(target))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit) return Error::internal("toolchain", to_string(jit.takeError()));
  // Lookups return their errors; the session's reporter would print them.
  (*jit)->getExecutionSession().setErrorReporter(
      [](llvm::Error error) { llvm::consumeError(std::move(error)); });
  tell_debuggers(**jit);
  jit_ = std::move(*jit);
  return jit_;
}

// Defines exactly the imports that the object leaves undefined.
llvm::Error ClangCompiler::define_imports(llvm::orc::JITDylib& dylib, llvm::StringRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) return file.takeError();
  llvm::orc::SymbolMap imports;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return flags.takeError();
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined)) continue;
    auto name = symbol.getName();
    if (!name) return name.takeError();
    if (name->empty()) continue;  // ELF's null symbol
    void* address = config_.find_import(std::string_view(name->data(), name->size()));
    if (!address) return llvm::createStringError("kernels may not call '%s'", name->str().c_str());
    imports[jit_->mangleAndIntern(*name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                             llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  }
  return imports.empty() ? llvm::Error::success()
                         : dylib.define(llvm::orc::absoluteSymbols(std::move(imports)));
}

size_t text_size(llvm::StringRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) return llvm::consumeError(file.takeError()), 0;
  size_t size = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections())
    if (section.isText()) size += section.getSize();
  return size;
}

Result<std::unique_ptr<KernelLibrary>> ClangCompiler::load(const std::string& object,
                                                           const std::vector<std::string>& symbols) {
  auto clock = Clock::now();
  SUTURE_TRY(jit, this->jit());
  auto dylib = jit->createJITDylib("kernels_" + std::to_string(dylib_count_++));
  if (!dylib) return Error::internal("toolchain", to_string(dylib.takeError()));
  auto library = std::make_unique<ClangLibrary>(jit, *dylib);
  if (llvm::Error error = define_imports(*dylib, object))
    return Error::internal("toolchain", to_string(std::move(error)));
  if (llvm::Error error =
          jit->addObjectFile(*dylib, llvm::MemoryBuffer::getMemBufferCopy(object, "kernel.o")))
    return Error::internal("toolchain", to_string(std::move(error)));
  for (const std::string& symbol : symbols) {
    auto address = jit->lookup(*dylib, symbol);
    if (!address) return Error::internal("toolchain", to_string(address.takeError()));
    library->symbols[symbol] = address->toPtr<suture_kernel_fn>();
  }
  library->times.link = take_ms(clock);
  library->code_bytes = text_size(object);
  return std::unique_ptr<KernelLibrary>(std::move(library));
}

// What stands at the offsets of a section: names of functions, and what instructions refer to.
std::map<uint64_t, std::string> labels_of(const llvm::object::ObjectFile& file,
                                          const llvm::object::SectionRef& section) {
  std::map<uint64_t, std::string> labels;
  for (const llvm::object::SymbolRef& symbol : file.symbols()) {
    auto home = symbol.getSection();
    auto name = symbol.getName();
    auto address = symbol.getAddress();
    if (home && name && address && *home == section && !name->empty()) labels[*address] = name->str();
    if (!home) llvm::consumeError(home.takeError());
    if (!name) llvm::consumeError(name.takeError());
    if (!address) llvm::consumeError(address.takeError());
  }
  return labels;
}

std::map<uint64_t, std::string> references_of(const llvm::object::ObjectFile& file,
                                              const llvm::object::SectionRef& section) {
  std::map<uint64_t, std::string> references;
  for (const llvm::object::SectionRef& candidate : file.sections()) {
    auto relocated = candidate.getRelocatedSection();
    if (!relocated || *relocated == file.section_end() || **relocated != section) {
      if (!relocated) llvm::consumeError(relocated.takeError());
      continue;
    }
    for (const llvm::object::RelocationRef& relocation : candidate.relocations()) {
      auto name = relocation.getSymbol()->getName();
      if (name && !name->empty()) references[relocation.getOffset()] = name->str();
      if (!name) llvm::consumeError(name.takeError());
    }
  }
  return references;
}

std::string listing_of(LLVMDisasmContextRef context, const llvm::object::ObjectFile& file,
                       const llvm::object::SectionRef& section) {
  const auto labels = labels_of(file, section), references = references_of(file, section);
  auto contents = section.getContents();
  if (!contents) return to_string(contents.takeError());
  std::string text, bytes = contents->str();
  for (uint64_t at = 0; at < bytes.size();) {
    if (auto label = labels.find(at); label != labels.end()) text += "\n" + label->second + ":\n";
    char line[256] = "";
    size_t length = LLVMDisasmInstruction(context, reinterpret_cast<uint8_t*>(bytes.data()) + at,
                                          bytes.size() - at, at, line, sizeof line);
    if (length == 0)
      length = 1, std::snprintf(line, sizeof line, "\t.byte\t0x%02x", static_cast<uint8_t>(bytes[at]));
    char offset[32];
    std::snprintf(offset, sizeof offset, "%6llx:", static_cast<unsigned long long>(at));
    text += offset + std::string(line);
    auto reference = references.lower_bound(at);
    if (reference != references.end() && reference->first < at + length) text += "\t# " + reference->second;
    text += '\n';
    at += length;
  }
  return text;
}

Result<std::string> ClangCompiler::disassemble(const std::string& object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) return Error::internal("toolchain", to_string(file.takeError()));
  LLVMDisasmContextRef context = LLVMCreateDisasmCPUFeatures(
      host_.triple.c_str(), host_.cpu.c_str(), host_.features.c_str(), nullptr, 0, nullptr, nullptr);
  if (!context) return Error::unsupported("toolchain", "no disassembler for " + host_.triple);
  LLVMSetDisasmOptions(context,
                       LLVMDisassembler_Option_AsmPrinterVariant | LLVMDisassembler_Option_PrintImmHex);
  std::string text;
  for (const llvm::object::SectionRef& section : (*file)->sections())
    if (section.isText() && section.getSize() > 0) text += listing_of(context, **file, section);
  LLVMDisasmDispose(context);
  return text;
}

}  // namespace
}  // namespace suture

extern "C" __attribute__((visibility("default"))) suture::ObjectCompiler* suture_clang_plugin(
    const suture::PluginConfig* config) {
  if (config->version != suture::kPluginVersion) return nullptr;
  return new suture::ClangCompiler(*config);
}
