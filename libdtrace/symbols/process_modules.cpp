// SPDX-License-Identifier: MIT
// ProcessSymbols: the list of modules, and their names.
#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/mapped_file.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <optional>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view vdso_name = "linux-vdso.so.1";
constexpr std::string_view memory_file_path = "/memfd:"; // memfd_create(2)
// Only a hostile process has more modules. Addresses in further modules are printed in
// hexadecimal.
constexpr std::size_t max_modules = 4096;

std::string base_name(std::string_view path)
{
    if (path == vdso_path)
        return std::string(vdso_name);
    // Removes the prefix, because a field of a probe description cannot contain a
    // colon.
    if (path.starts_with(memory_file_path))
        path.remove_prefix(memory_file_path.size());
    return std::string(path.substr(path.rfind('/') + 1));
}

// Sets a module's range to `mapping` and the directly following mappings of the same
// file. This range is used if the module's segments are not known.
void span_of_file(const ProcessMaps& maps, const Mapping& mapping, Module& module)
{
    module.begin = mapping.begin;
    module.end = mapping.end;
    for (const Mapping& m : maps.all())
        if (m.file == mapping.file && m.path == mapping.path && m.begin == module.end)
            module.end = m.end;
}

std::optional<std::uint64_t> bias_of(const ElfImage& image, const Mapping& mapping)
{
    return mapping.executable ? bias_of_mapping(image, mapping)
                              : bias_of_beginning(image, mapping);
}

// Returns whether the start of the file is mapped where the module's bias places it.
bool has_first_segment(const ProcessMaps& maps, const Module& module)
{
    if (module.is_vdso())
        return true;
    const Mapping* first =
        maps.at(module.target_addr(module.image->segments().front().addr));
    return first && first->file == module.file && first->path == module.path;
}

bool is_main_mapping(const ProcessMaps& maps, const Mapping& mapping,
                     std::optional<TargetAddr> program_headers)
{
    if (!program_headers)
        return false;
    const Mapping* main = maps.at(*program_headers);
    return main && main->file == mapping.file && main->path == mapping.path;
}

bool shows(const Mapping& mapping, const Module& module)
{
    return module.contains(mapping.begin) && module.file == mapping.file &&
           module.path == mapping.path &&
           (!module.image || bias_of(*module.image, mapping) == module.bias);
}

} // namespace

std::vector<Result<std::shared_ptr<ElfImage>>>
ImageCache::open_all(std::vector<Result<ElfSource>> sources)
{
    std::vector<Result<std::shared_ptr<ElfImage>>> all;
    // The sources that the reader must open, with their indices in `all`, and the keys
    // of those that are files.
    std::vector<ElfSource> unknown;
    std::vector<std::pair<std::size_t, std::optional<Key>>> missing;
    for (Result<ElfSource>& source : sources) {
        all.emplace_back(std::shared_ptr<ElfImage>());
        if (!source) {
            all.back() = source.error();
            continue;
        }
        std::optional<Key> key;
        if (source->fd) {
            struct stat st {};
            if (::fstat(source->fd.get(), &st) != 0) {
                all.back() = errno_error("stat " + source->path);
                continue;
            }
            key.emplace(st.st_dev, st.st_ino, st.st_size, st.st_mtim.tv_sec,
                        st.st_mtim.tv_nsec);
            if (auto known = images_.find(*key); known != images_.end()) {
                all.back() = known->second;
                continue;
            }
        }
        missing.emplace_back(all.size() - 1, key);
        unknown.push_back(std::move(*source));
    }
    const auto opened = reader_->open_all(std::move(unknown));
    for (std::size_t i = 0; i < missing.size(); ++i) {
        const auto& [index, key] = missing[i];
        all[index] = opened[i];
        if (opened[i] && key)
            images_.emplace(*key, *opened[i]);
    }
    return all;
}

std::vector<std::string> ImageCache::take_cuts()
{
    std::vector<std::string> all;
    for (auto& [key, image] : images_)
        for (std::string& cut : image->take_cuts())
            all.push_back(std::move(cut));
    for (auto& [message, taken] : reports_)
        if (!std::exchange(taken, true))
            all.push_back(message);
    return all;
}

bool Module::is_called(std::string_view what) const
{
    return what == name || what == path ||
           (is_main && (what == "a.out" || (!what.empty() && what == executed_as)));
}

// Accepts `libc` and `libc.so` for libc.so.6, but not `lib`. Accepts `libfoo` for
// libfoo-1.2.so.
bool Module::is_abbreviated_by(std::string_view what) const
{
    if (what.empty() || what.size() >= name.size() || !name.starts_with(what))
        return false;
    std::string_view rest = std::string_view(name).substr(what.size());
    return rest[0] == '.' ||
           (rest[0] == '-' && rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9');
}

Module* ProcessSymbols::known_module(const Mapping& mapping) const
{
    for (const auto& module : modules_)
        if (shows(mapping, *module))
            return module.get();
    return nullptr;
}

// Makes an earlier Module live again if the same library is mapped again at the same
// address. Returns false if there is no such Module. Compares the images, because
// another file may have the same inode number now.
bool ProcessSymbols::revive_module(const Mapping& mapping,
                                   const Result<std::shared_ptr<ElfImage>>& image)
{
    auto at = std::find_if(retired_.begin(), retired_.end(),
                           [&](const auto& module) { return shows(mapping, *module); });
    if (at == retired_.end() || !image || *image != (*at)->image)
        return false;
    (*at)->live = true;
    modules_.push_back(std::move(*at));
    retired_.erase(at);
    return true;
}

std::unique_ptr<Module>
ProcessSymbols::new_module(const Mapping& mapping, bool is_main,
                           const Result<std::shared_ptr<ElfImage>>& image) const
{
    auto module = std::make_unique<Module>();
    module->name = base_name(mapping.path);
    module->path = mapping.path;
    module->file = mapping.file;
    module->deleted = mapping.deleted;
    module->is_main = is_main;
    span_of_file(maps_, mapping, *module);

    if (!image) {
        module->trouble = image.error().text;
        return module;
    }
    auto bias = bias_of(**image, mapping);
    if (!bias) {
        module->trouble =
            mapping.path + ": the mapping matches no executable segment of the file";
        return module;
    }
    module->image = *image;
    module->bias = *bias;
    module->partial = !has_first_segment(maps_, *module);
    if (module->partial)
        return module;
    const ElfSegment& last = *std::max_element(
        module->image->segments().begin(), module->image->segments().end(),
        [](const ElfSegment& a, const ElfSegment& b) {
            return a.addr + a.mem_bytes < b.addr + b.mem_bytes;
        });
    module->begin =
        module->target_addr(module->image->segments().front().addr & ~0xfffULL);
    module->end = module->target_addr(last.addr + last.mem_bytes);
    // The mapping may extend beyond the segments.
    module->begin = std::min(module->begin, mapping.begin);
    module->end = std::max(module->end, mapping.end);
    return module;
}

void ProcessSymbols::rebuild_modules()
{
    MainProgram main = main_program(pid_);
    for (auto& module : modules_)
        module->live = false;
    auto is_known = [this](const Mapping& mapping) {
        Module* known = known_module(mapping);
        if (known != nullptr)
            known->live = true;
        return known != nullptr;
    };
    std::vector<const Mapping*> unknown;
    for (const Mapping& mapping : maps_.all()) {
        bool text =
            mapping.executable && (mapping.is_file() || mapping.path == vdso_path);
        if ((text || has_anonymous_text(maps_, mapping)) && !is_known(mapping) &&
            modules_.size() + unknown.size() < max_modules)
            unknown.push_back(&mapping);
    }
    const auto images = images_of_mappings(pid_, maps_, unknown, *cache_);
    for (std::size_t i = 0; i < unknown.size(); ++i) {
        const Mapping& mapping = *unknown[i];
        // A module of this loop may consist of several mappings.
        if (is_known(mapping) || revive_module(mapping, images[i]))
            continue;
        bool is_main = is_main_mapping(maps_, mapping, main.program_headers);
        modules_.push_back(new_module(mapping, is_main, images[i]));
        if (is_main)
            modules_.back()->executed_as = base_name(main.executed_path);
    }
    for (auto& module : modules_)
        if (!module->live)
            retired_.push_back(std::move(module));
    std::erase(modules_, nullptr);
    std::sort(modules_.begin(), modules_.end(),
              [](const auto& a, const auto& b) { return a->begin < b->begin; });
}

std::vector<const Module*> ProcessSymbols::modules() const
{
    std::vector<const Module*> all;
    for (const auto& module : modules_)
        if (!module->partial)
            all.push_back(module.get());
    return all;
}

const Module* ProcessSymbols::main_module() const
{
    for (const auto& module : modules_)
        if (module->is_main && !module->partial)
            return module.get();
    return nullptr;
}

std::vector<const Module*> ProcessSymbols::match_modules(std::string_view pattern) const
{
    if (pattern.empty() || pattern == "*")
        return modules();
    // The pattern may be another path to the file, for example through a symbolic link.
    struct stat st {};
    bool is_path = pattern[0] == '/';
    std::string path = "/proc/" + std::to_string(pid_) + "/root" + std::string(pattern);
    bool found = is_path && (::stat(path.c_str(), &st) == 0);
    FileId id{major(st.st_dev), minor(st.st_dev), st.st_ino};

    std::vector<const Module*> exact, abbreviated, matching;
    for (const Module* module : modules()) {
        if (module->is_called(pattern) || (found && module->file == id))
            exact.push_back(module);
        else if (module->is_abbreviated_by(pattern))
            abbreviated.push_back(module);
        else if (glob_match(pattern, module->name) ||
                 glob_match(pattern, module->path) ||
                 (module->is_main && glob_match(pattern, "a.out")))
            matching.push_back(module);
    }
    if (!exact.empty())
        return exact;
    return abbreviated.empty() ? matching : abbreviated;
}

const Module* ProcessSymbols::module_at(TargetAddr addr) const
{
    auto after = std::upper_bound(
        modules_.begin(), modules_.end(), addr,
        [](TargetAddr at, const auto& module) { return at < module->begin; });
    if (after != modules_.begin() && (*std::prev(after))->contains(addr))
        return std::prev(after)->get();
    if (maps_.at(addr))
        return nullptr; // another file is mapped there now
    for (auto module = retired_.rbegin(); module != retired_.rend(); ++module)
        if ((*module)->contains(addr))
            return module->get();
    return nullptr;
}

std::vector<std::string> ProcessSymbols::suggest_modules(std::string_view name) const
{
    Suggestions suggestions(name);
    for (const auto& module : modules_)
        suggestions.consider(module->name);
    return suggestions.nearest();
}

bool ProcessSymbols::has_modules_of(const ProcessSymbols& other) const
{
    auto has = [this](const std::unique_ptr<Module>& its) {
        auto same = [&its](const std::unique_ptr<Module>& ours) {
            if (ours->file != its->file || ours->path != its->path)
                return false;
            // A process that exits while its files are opened has modules without
            // images. Their ranges may be incomplete, so only the start is compared.
            if (!its->image)
                return ours->contains(its->begin);
            return ours->begin == its->begin && ours->end == its->end &&
                   ours->bias == its->bias;
        };
        return std::any_of(modules_.begin(), modules_.end(), same) ||
               std::any_of(retired_.begin(), retired_.end(), same);
    };
    return std::all_of(other.modules_.begin(), other.modules_.end(), has);
}

} // namespace dt
