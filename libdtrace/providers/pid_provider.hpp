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
#include "libdtrace/providers/extent_maps.hpp"
#include "libdtrace/providers/provider.hpp"
#include "libdtrace/symbols/process_symbols.hpp"

#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace dt {

enum class PidSiteKind { Entry, Return, Offset };

struct PidSite {
    TargetAddr at;
    PidSiteKind kind = PidSiteKind::Entry;
    // From the function's start; a part that was split off may lie before it.
    std::int64_t offset = 0;
    // How far the bytes around may be moved (fasttrap/extents.hpp), once find_extents()
    // was called; both 0: not known.
    TargetAddr first, end;
    TargetAddr beyond;        // of what begins at `end`
    bool restartable = false; // in a restartable sequence; known with the extents
    bool planted = false;     // as who plants it says
};

struct PidProbe {
    pid_t pid = 0;
    std::vector<PidSite> sites;
};

class PidProvider : public Provider {
public:
    // Symbols of a process, which is grabbed when it is not yet.
    using FindProcess = std::function<Result<ProcessSymbols*>(pid_t)>;

    PidProvider(Registry& registry, FindProcess find_process);
    std::string name() const override { return "pid"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    // Over modules alone in which the description was not looked for since they were
    // loaded. The symbols were refreshed; they and their modules outlive this.
    Outcome provide_new(const ProbeSpec& spec);

    // Null: not one of ours.
    const PidProbe* probe(std::uint32_t id) const;
    PidProbe* probe(std::uint32_t id);
    // Those of a process that have sites, ascending.
    std::vector<std::uint32_t> probes_of(pid_t pid) const;
    // Fills first and end of the sites of one process that lack them. The first time for a
    // module its whole text is swept, some 40 ms for 10 MB: ask for probes that will be
    // planted, and for all of them at once.
    void find_extents(ProcessSymbols& symbols, std::span<const std::uint32_t> ids);
    // The process has a new image, or ended: its probes have no sites any more.
    void forget_sites(pid_t pid);
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
        std::map<Names, std::set<const Module*>> descriptions;   // over which modules
        std::map<const Module*, std::vector<std::uint32_t>> ids; // with sites there
    };
    enum class Over { all, not_searched };
    Outcome provide_over(const ProbeSpec& spec, Over over);
    void begin_planting(const Wanted& wanted, const std::vector<FunctionAt>& functions);
    Searched& searched_of(ProcessSymbols& symbols);
    static Searched::Names names_of(const ProbeSpec& spec);
    std::optional<Diagnostic> make_probes(const ProbeSpec& spec, const Wanted& wanted,
                                          const FunctionAt& at,
                                          std::vector<std::uint32_t>& ids);
    struct Part;
    std::vector<Part> parts_of(const FunctionAt& at, const FunctionSites& sites,
                               const ReadModule& read);
    std::vector<PidSite> return_sites(const FunctionAt& at, const FunctionSites& sites,
                                      const ReadModule& read);
    std::uint32_t add(const Wanted& wanted, const FunctionAt& at, std::string_view name,
                      std::vector<PidSite> sites);
    Outcome absolute(const ProbeSpec& spec, pid_t pid, ProcessSymbols& symbols,
                     Over over);

    Registry& registry_;
    FindProcess find_process_;
    PidProbe& of(std::uint32_t id);
    std::vector<PidProbe> probes_; // by id; pid 0: another provider's
    std::map<pid_t, Searched> searched_;
    std::vector<std::string> notes_;
    ExtentMaps extents_;
};

} // namespace dt
