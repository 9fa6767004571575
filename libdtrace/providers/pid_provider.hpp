// SPDX-License-Identifier: MIT
// The pid provider: any instruction of any function of a process.
//
//   pidN:module:function:entry    its first instruction
//   pidN:module:function:return   every instruction that leaves it
//   pidN:module:function:1a       the instruction at that hex offset
//   pidN:module:-:401a2b          the instruction at that address of the program
//
// A description creates the probes that it matches, from the symbols of the process's
// modules. All aliases of a function share its probes, which have the preferred name.
// Only the necessary text is decoded: none for an entry (the agent decodes the one
// instruction), the entire function for a return or an offset.
//
// The compiler moves rarely executed parts of a function to another place (foo.cold).
// Jumps to such a part and back are not returns of foo. But if an instruction in such a
// part leaves foo, it is a return of foo. A glob does not match these parts as
// functions.
//
// If a module is not loaded yet, a description with zdefs is retained and matched again
// when libraries change. Without zdefs it is refused, and the error suggests similar
// names.
//
// When libraries change, a module that is still loaded keeps its sites, and an unloaded
// one loses them. A description is matched only against new modules (provide_new), so
// each module is searched only once, even if a program loads a hundred libraries.
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
    // Returns the symbols of a process. Grabs the process if it is not held yet.
    using FindProcess = std::function<Result<ProcessSymbols*>(pid_t)>;

    PidProvider(Registry& registry, ProcessProbes& probes, FindProcess find_process);
    std::string name() const override { return "pid"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    // Matches only the modules that were loaded since the description was last matched.
    // The symbols must be up to date. They and their modules must outlive this object.
    Outcome provide_new(const ProbeSpec& spec);

    // Forgets the results for a process that has a new image or has exited.
    void forget(pid_t pid) { searched_.erase(pid); }
    // Returns, and forgets, the messages about functions and modules that could not be
    // analysed.
    std::vector<std::string> take_notes();

    bool zdefs = false;
    // Set if the probes that provide() creates will be planted. provide() then requests
    // that a second thread compute the extents of their modules in advance. After that,
    // and before it creates the sites, provide() calls this function. n_sites is
    // approximate. n_threads is 1 if the second thread computes extents, otherwise 0.
    std::function<void(std::size_t n_sites, unsigned n_threads)> plants;

private:
    struct Wanted;
    // The descriptions that have already been matched in a process.
    struct Searched {
        using Names = std::tuple<std::string, std::string, std::string>;
        const ProcessSymbols* symbols = nullptr;
        // the modules in which each description has been matched
        std::map<Names, std::set<const Module*>> descriptions;
        std::map<const Module*, AddressRange> go_text;
        // The operands of each return site at an indirect jump. The key consists of the
        // bytes of these operands, so that sites with equal operands share an entry.
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
