// SPDX-License-Identifier: MIT
// The pid provider: any instruction of any function of a process.
//
//   pidN:module:function:entry    the function's first instruction
//   pidN:module:function:return   every instruction that leaves the function
//   pidN:module:function:1a       the instruction at that hex offset
//   pidN:module:-:401a2b          the instruction at that address of the program
//
// All aliases of a function share its probes, which are named after the preferred
// alias. A function is decoded only if a description selects its returns or an offset.
//
// The compiler may split rarely executed parts off a function (foo.cold). A jump
// between foo and such a part is not a return of foo. A glob does not match such parts.
//
// With zdefs, a description is retained if its module is not loaded yet. The
// description is matched again when libraries change, but only in new modules
// (provide_new). Without zdefs, the description is refused.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/function.hpp"
#include "libdtrace/providers/go_text.hpp"
#include "libdtrace/providers/process_probes.hpp"
#include "libdtrace/providers/provider.hpp"
#include "libdtrace/symbols/process_symbols.hpp"

#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace dt {

class PidProvider : public Provider {
public:
    // Returns the symbols of a process. Grabs the process if necessary.
    using FindProcess = std::function<Result<ProcessSymbols*>(pid_t)>;

    PidProvider(Registry& registry, ProcessProbes& probes, FindProcess find_process);
    std::string name() const override { return "pid"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    // Matches only the modules that were loaded since the last match. The symbols must
    // be up to date. The symbols and their modules must outlive this object.
    Outcome provide_new(const ProbeSpec& spec);

    // Called when a process has a new image or has exited.
    void forget(pid_t pid) { searched_.erase(pid); }
    // Returns and clears the messages about code that could not be analysed.
    std::vector<std::string> take_notes();

    bool zdefs = false;
    // The caller sets this function if the new probes will be planted. provide() calls
    // it before it creates the sites. n_sites is approximate. n_threads is 1 if a
    // second thread computes the extents, otherwise 0.
    std::function<void(std::size_t n_sites, unsigned n_threads)> plants;

private:
    struct Wanted;
    // The descriptions that have been matched in a process.
    struct Searched {
        using Names = std::tuple<std::string, std::string, std::string>;
        const ProcessSymbols* symbols = nullptr;
        // The modules in which each description has been matched.
        std::map<Names, std::set<const Module*>> descriptions;
        std::map<const Module*, AddressRange> go_text;
        // The operands of return sites at indirect jumps. The key consists of the bytes
        // of the operands, so that sites with equal operands share an entry.
        std::map<std::string, StaticArguments> jumps;
    };
    enum class Over { all, not_searched };
    Outcome provide_over(const ProbeSpec& spec, Over over);
    void begin_planting(const Wanted& wanted, const std::vector<FunctionAt>& functions);
    Searched& searched_of(ProcessSymbols& symbols);
    static Searched::Names names_of(const ProbeSpec& spec);
    std::optional<Diagnostic> make_probes(const ProbeSpec& spec, const Wanted& wanted,
                                          const FunctionAt& at,
                                          std::vector<std::uint32_t>& ids);
    StackCheck stack_check(const Wanted& wanted, const FunctionAt& at);
    struct Part;
    std::vector<Part> parts_of(const FunctionAt& at, const FunctionSites& sites,
                               const ReadModule& read);
    std::vector<ProbeSite> return_sites(const FunctionAt& at,
                                        const FunctionSites& sites,
                                        const ReadModule& read, pid_t pid);
    const StaticArguments* arguments_of_jump(const FunctionAt& at,
                                             const std::vector<Part>& parts,
                                             TargetAddr jump, pid_t pid);
    std::uint32_t add(const Wanted& wanted, const FunctionAt& at, std::string_view name,
                      std::vector<ProbeSite> sites);
    Outcome absolute(const ProbeSpec& spec, pid_t pid, ProcessSymbols& symbols,
                     Over over);

    Registry& registry_;
    ProcessProbes& probes_;
    FindProcess find_process_;
    std::map<pid_t, Searched> searched_;
    std::vector<std::string> notes_;
};

} // namespace dt
