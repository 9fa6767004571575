// SPDX-License-Identifier: MIT
// The pid provider: any instruction of any function of a process.
//
//   pidN:module:function:entry    its first instruction
//   pidN:module:function:return   every instruction that leaves it
//   pidN:module:function:1a       the instruction at that hex offset
//   pidN:module:-:401a2b          the instruction at that address of the program
//
// A description makes the probes that it names, from the symbols of the process' modules.
// One address has one function, whatever its aliases; the probe carries the preferred
// name. Text is decoded only as far as a probe needs it: an entry needs none here (the
// agent decodes the one instruction), a return or an offset the function.
//
// The compiler splits rarely run parts off a function (foo.cold). A jump there and back is
// no return; what leaves from there is one of foo. The parts are no functions to a glob.
//
// A module that is not there yet: with zdefs the description is retained and tried again
// when libraries change, otherwise it is refused with the names that come near.
//
// When libraries change, a module that stays keeps its sites, one that went takes them
// along, and a description looks only into what it has not been matched over
// (provide_new): a program that loads a hundred modules is searched once.
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
    // Symbols of a process, which is grabbed when it is not yet.
    using FindProcess = std::function<Result<ProcessSymbols*>(pid_t)>;

    PidProvider(Registry& registry, ProcessProbes& probes, FindProcess find_process);
    std::string name() const override { return "pid"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    // Over modules alone in which the description was not looked for since they were
    // loaded. The symbols were refreshed; they and their modules outlive this.
    Outcome provide_new(const ProbeSpec& spec);

    // It has a new image, or ended: nothing was looked for in it yet.
    void forget(pid_t pid) { searched_.erase(pid); }
    // Offsets into functions and modules that could not be analysed, as sentences.
    std::vector<std::string> take_notes();

    bool zdefs = false;
    // Set while the probes that provide() makes will be planted: the extents of their
    // modules are worked out meanwhile, by as many threads, and it hears about how many
    // sites there will be before they are made.
    std::function<void(std::size_t n_sites, unsigned n_threads)> plants;

private:
    struct Wanted;
    // What descriptions found in a process.
    struct Searched {
        using Names = std::tuple<std::string, std::string, std::string>;
        const ProcessSymbols* symbols = nullptr;
        std::map<Names, std::set<const Module*>> descriptions; // over which modules
        std::map<const Module*, AddressRange> go_text;
        // The operands of return sites at indirect jumps, by their bytes.
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
