// SPDX-License-Identifier: MIT
// Finds names for the addresses of one process, and addresses for names.
//
//   /proc/PID/maps ──> Module (bias, range) ──> ElfImage, shared through the ImageCache
//
// A module is an ELF file that is mapped with executable pages: the program, a library,
// the dynamic linker or the vDSO. Another file may have replaced the mapped file at its
// path. A file opened by path is therefore accepted only if it matches the mapped file.
//
// refresh() reads the maps again. Unmapped modules are kept, so that old stacks still
// have names. References to Modules stay valid while the ProcessSymbols exists.
//
// Only one thread may use an object at a time.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/reader/symbol_reader.hpp"
#include "process/maps.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tuple>
#include <vector>

namespace dt {

// A cache of images by file, so that a library is read once for all processes.
class ImageCache {
public:
    explicit ImageCache(std::shared_ptr<SymbolReader> reader = SymbolReader::create())
        : reader_(std::move(reader))
    {
    }
    // Call this some time before the first image is opened, to save a millisecond.
    void prepare() { reader_->prepare(); }
    // Returns the images in the order of the sources. Does not cache images that are
    // not files. Has the same errors as SymbolReader::open(), and the errors of the
    // sources.
    std::vector<Result<std::shared_ptr<ElfImage>>>
    open_all(std::vector<Result<ElfSource>> sources);
    std::string demangled_or_same(std::string_view name)
    {
        return reader_->demangled_or_same(name);
    }
    // Adds a message about a file that cannot be read to the result of take_cuts().
    void report(std::string message) { reports_.try_emplace(std::move(message)); }
    // Returns the messages of ElfImage::take_cuts() for all images, and those of
    // report(). Returns each message of report() once.
    std::vector<std::string> take_cuts();

private:
    // st_dev, st_ino, st_size and st_mtim (two numbers). A file that was rewritten in
    // place gets a new key.
    using Key = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t,
                           std::int64_t>;
    std::shared_ptr<SymbolReader> reader_;
    std::map<Key, std::shared_ptr<ElfImage>> images_;
    std::map<std::string, bool> reports_; // true if take_cuts() has returned it
};

struct Module {
    std::string name; // base name, as probemod shows it
    std::string path; // the path in the target, or vdso_path
    // The base name of the executed path, which may be a symbolic link. Empty except
    // for the main program.
    std::string executed_as;
    FileId file;
    std::uint64_t bias = 0; // target address = link-time address + bias
    TargetAddr begin, end;  // from the first to the last mapped segment
    bool is_main = false;   // also called a.out
    bool deleted = false;
    // True if the start of the file is not mapped here. For example, V8 maps its
    // builtins a second time in this way. Probe descriptions do not match such a
    // module.
    bool partial = false;
    bool live = true; // false if it was unmapped and is kept for old addresses
    std::shared_ptr<ElfImage> image; // null if the file is not available, see trouble
    std::string trouble;             // "open /x: permission denied", "32-bit", ...

    std::uint64_t link_addr(TargetAddr at) const { return at.value - bias; }
    TargetAddr target_addr(std::uint64_t addr) const { return {addr + bias}; }
    bool contains(TargetAddr at) const { return begin <= at && at < end; }
    bool is_vdso() const { return path == vdso_path; }
    // These functions return whether D programs may use a name for the module.
    // is_called() accepts the base name and the full path. For the main program it also
    // accepts `a.out` and executed_as. is_abbreviated_by() accepts `libc` and `libc.so`
    // for libc.so.6.
    bool is_called(std::string_view what) const;
    bool is_abbreviated_by(std::string_view what) const;
};

struct Symbol {
    const Module* module = nullptr; // null if the address is outside of all modules
    // Null if no known function contains the address.
    const Function* function = nullptr;
    // The mangled name of the function or variable that contains the address. For a
    // function, the preferred name. Empty if neither is known.
    std::string_view name;
    // The offset of the address in the function or in the variable, otherwise 0.
    std::uint64_t offset = 0;
};

struct FunctionAt {
    const Module* module = nullptr;
    const Function* function = nullptr;
    TargetAddr addr; // in the process
};

class ProcessSymbols {
public:
    // Reads the modules of a process. The cache must outlive the result. Errors:
    // Code::gone if the process has exited, Code::permission if its files in /proc may
    // not be read.
    static Result<std::unique_ptr<ProcessSymbols>> open(pid_t pid, ImageCache& cache);

    // Reads the maps again. If the process has exited, returns Code::gone and keeps the
    // modules.
    Result<Ok> refresh();

    pid_t pid() const { return pid_; }
    const ProcessMaps& maps() const { return maps_; } // read at the last refresh
    const Module* main_module() const;
    std::vector<const Module*> modules() const; // mapped modules, by address
    // Returns the modules that a description's module field selects. "" and "*" select
    // all. An exact name takes precedence over an abbreviation, and an abbreviation
    // over a glob.
    std::vector<const Module*> match_modules(std::string_view pattern) const;
    const Module* module_at(TargetAddr addr) const;
    // Returns whether this object contains, or contained, each module of the other
    // object at the same address.
    bool has_modules_of(const ProcessSymbols& other) const;

    Symbol lookup(TargetAddr addr) const;
    // Finds a function in the modules that match_modules() selects. A function with
    // exactly this name takes precedence over the results of match(). The error
    // not_found contains suggestions.
    Result<FunctionAt> lookup(std::string_view module, std::string_view function) const;
    // Returns all functions that a description's module and function fields select.
    std::vector<FunctionAt> match(std::string_view module,
                                  std::string_view function) const;
    static std::vector<FunctionAt> match(std::span<const Module* const> modules,
                                         std::string_view function);

    // format_address() returns, for example, "libc.so.6`malloc+0x1f". Without a known
    // function it returns "libc.so.6`0x7f4011a0", and without a known module
    // "0x7f0000001000".
    std::string format_address(TargetAddr addr) const;  // uaddr, stack frames
    std::string format_function(TargetAddr addr) const; // ufunc: no offset
    std::string format_module(TargetAddr addr) const;   // umod

    std::vector<std::string> suggest_modules(std::string_view name) const;
    std::vector<std::string> suggest_functions(std::string_view module,
                                               std::string_view name) const;

private:
    ProcessSymbols(pid_t pid, ImageCache& cache) : pid_(pid), cache_(&cache) {}
    void rebuild_modules();
    Module* known_module(const Mapping& mapping) const;
    bool revive_module(const Mapping& mapping,
                       const Result<std::shared_ptr<ElfImage>>& image);
    std::unique_ptr<Module>
    new_module(const Mapping& mapping, bool is_main,
               const Result<std::shared_ptr<ElfImage>>& image) const;

    pid_t pid_;
    ImageCache* cache_;
    ProcessMaps maps_;
    std::vector<std::unique_ptr<Module>> modules_; // mapped ones, sorted by begin
    std::vector<std::unique_ptr<Module>> retired_; // unmapped ones, the latest is last
};

} // namespace dt
