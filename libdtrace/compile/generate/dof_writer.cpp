// SPDX-License-Identifier: MIT
// Writes the program as DOF (dif/dof.h), the format that engines load.
//
//   header | section table | data of section 0 | data of section 1 | ...
//
// A clause has its DIF objects, one ACTDESC section, and a PROBEDESC and an ECBDESC
// section for each probe description. A DIF object consists of the sections DIFOHDR,
// DIF, INTTAB, STRTAB and VARTAB. The ECBDESCs of one clause have the same uarg and
// refer to the same ACTDESC. Probe names and formats share one STRTAB. Sections with
// the same type and contents are written only once.
#include "dif/dof.h"
#include "dif/ops.h"
#include "libdtrace/compile/compiler.hpp"

#include <cstring>
#include <string_view>
#include <unordered_map>

namespace dt {

namespace {

class DofWriter {
public:
    DofWriter();

    void add_clause(const CompiledClause& clause, std::uint64_t number);
    std::vector<std::byte> finish();

private:
    dof_secidx find_section(dof_sectype type, std::size_t hash, const void* data,
                            std::size_t bytes) const;
    dof_secidx add_section(dof_sectype type, std::uint32_t align, std::uint32_t entsize,
                           const void* data, std::size_t bytes);
    template <class T>
    dof_secidx add_table(dof_sectype type, const std::vector<T>& rows);
    dof_secidx add_difo(const std::shared_ptr<Difo>& difo);
    dof_secidx add_probe(const ProbeSpec& spec);
    dof_secidx add_actions(const std::vector<Action>& actions);
    dof_stridx add_string(const std::string& text);

    static constexpr dof_secidx strings_section = 0;

    // Each section's offset is relative to data_, until finish() changes it to an
    // offset in the file.
    std::vector<dof_sec> sections_;
    std::vector<std::byte> data_;
    std::string strings_ = std::string(1, '\0');
    std::unordered_map<std::string, dof_stridx> string_index_;
    std::unordered_multimap<std::size_t, dof_secidx> section_by_hash_;
    std::unordered_map<const Difo*, dof_secidx> difo_section_;
};

DofWriter::DofWriter()
{
    // The string table is the first section, so that all sections can refer to it. Its
    // contents are known only at the end.
    sections_.push_back({DOF_SECT_STRTAB, 1, DOF_SECF_LOAD, 0, 0, 0});
}

dof_secidx DofWriter::find_section(dof_sectype type, std::size_t hash, const void* data,
                                   std::size_t bytes) const
{
    auto [at, end] = section_by_hash_.equal_range(hash);
    for (; at != end; ++at) {
        const dof_sec& section = sections_[at->second];
        if (section.type == static_cast<dt_u32>(type) && section.size == bytes &&
            (bytes == 0 ||
             std::memcmp(data_.data() + section.offset, data, bytes) == 0))
            return at->second;
    }
    return DOF_SECIDX_NONE;
}

dof_secidx DofWriter::add_section(dof_sectype type, std::uint32_t align,
                                  std::uint32_t entsize, const void* data,
                                  std::size_t bytes)
{
    std::string_view content(static_cast<const char*>(data), bytes);
    std::size_t hash = std::hash<std::string_view>()(content) + type;
    dof_secidx same = find_section(type, hash, data, bytes);
    if (same != DOF_SECIDX_NONE)
        return same;
    // data_ starts at a multiple of 8 in the file.
    std::size_t at = DT_ALIGN(data_.size(), std::size_t{align});
    data_.resize(at + bytes);
    if (bytes != 0)
        std::memcpy(data_.data() + at, data, bytes);
    sections_.push_back(
        {static_cast<dt_u32>(type), align, DOF_SECF_LOAD, entsize, at, bytes});
    dof_secidx added = static_cast<dof_secidx>(sections_.size() - 1);
    section_by_hash_.emplace(hash, added);
    return added;
}

template <class T>
dof_secidx DofWriter::add_table(dof_sectype type, const std::vector<T>& rows)
{
    return add_section(type, alignof(T), sizeof(T), rows.data(),
                       rows.size() * sizeof(T));
}

dof_stridx DofWriter::add_string(const std::string& text)
{
    if (text.empty())
        return DOF_STRIDX_NONE;
    auto [entry, added] =
        string_index_.try_emplace(text, static_cast<dof_stridx>(strings_.size()));
    if (added)
        strings_.append(text.c_str()).push_back('\0');
    return entry->second;
}

dof_secidx DofWriter::add_difo(const std::shared_ptr<Difo>& difo)
{
    if (!difo)
        return DOF_SECIDX_NONE;
    if (auto known = difo_section_.find(difo.get()); known != difo_section_.end())
        return known->second;

    std::vector<dof_secidx> links;
    links.push_back(add_table(DOF_SECT_DIF, difo->text));
    if (!difo->ints.empty())
        links.push_back(add_table(DOF_SECT_INTTAB, difo->ints));
    if (!difo->strs.empty())
        links.push_back(
            add_section(DOF_SECT_STRTAB, 1, 0, difo->strs.data(), difo->strs.size()));
    if (!difo->vars.empty())
        links.push_back(add_table(DOF_SECT_VARTAB, difo->vars));

    std::vector<std::byte> header(sizeof(dof_difohdr) + links.size() * sizeof links[0]);
    dof_difohdr fixed = {difo->rtype};
    std::memcpy(header.data(), &fixed, sizeof fixed);
    std::memcpy(header.data() + sizeof fixed, links.data(),
                links.size() * sizeof links[0]);
    dof_secidx section =
        add_section(DOF_SECT_DIFOHDR, 4, 0, header.data(), header.size());
    difo_section_.emplace(difo.get(), section);
    return section;
}

dof_secidx DofWriter::add_probe(const ProbeSpec& spec)
{
    dof_probedesc probe = {strings_section,         add_string(spec.provider),
                           add_string(spec.module), add_string(spec.function),
                           add_string(spec.name),   spec.id};
    return add_section(DOF_SECT_PROBEDESC, 4, 0, &probe, sizeof probe);
}

dof_secidx DofWriter::add_actions(const std::vector<Action>& actions)
{
    if (actions.empty())
        return DOF_SECIDX_NONE;
    std::vector<dof_actdesc> rows;
    rows.reserve(actions.size());
    for (const Action& action : actions) {
        dof_actdesc row = {add_difo(action.difo), DOF_SECIDX_NONE, action.kind,
                           action.ntuple,         action.arg,      action.uarg};
        if (action.has_format) {
            row.strtab = strings_section;
            row.arg = add_string(action.format);
        }
        rows.push_back(row);
    }
    return add_table(DOF_SECT_ACTDESC, rows);
}

void DofWriter::add_clause(const CompiledClause& clause, std::uint64_t number)
{
    dof_ecbdesc ecb = {};
    ecb.pred = add_difo(clause.predicate);
    ecb.actions = add_actions(clause.actions);
    ecb.line = static_cast<dt_u32>(clause.source.at.line);
    ecb.uarg = number;
    for (const ProbeSpec& spec : clause.probes) {
        ecb.probes = add_probe(spec);
        add_section(DOF_SECT_ECBDESC, 8, 0, &ecb, sizeof ecb);
    }
}

std::vector<std::byte> DofWriter::finish()
{
    dof_hdr header = {};
    header.ident[DOF_ID_MAG0] = 0x7f;
    header.ident[DOF_ID_MAG0 + 1] = 'D';
    header.ident[DOF_ID_MAG0 + 2] = 'O';
    header.ident[DOF_ID_MAG0 + 3] = 'F';
    header.ident[DOF_ID_MODEL] = DOF_MODEL_LP64;
    header.ident[DOF_ID_ENCODING] = DOF_ENCODE_LSB;
    header.ident[DOF_ID_VERSION] = DOF_VERSION;
    header.ident[DOF_ID_DIFVERS] = DIF_VERSION;
    header.ident[DOF_ID_DIFIREG] = DIF_DIR_NREGS;
    header.ident[DOF_ID_DIFTREG] = DIF_DTR_NREGS;
    header.ident[DOF_ID_ABI] = DOF_ABI_LINUX;
    header.hdrsize = sizeof(dof_hdr);
    header.secsize = sizeof(dof_sec);
    header.secnum = static_cast<dt_u32>(sections_.size());
    header.secoff = sizeof(dof_hdr);
    std::size_t table_bytes = sections_.size() * sizeof(dof_sec);
    std::size_t strings_at = sizeof header + table_bytes;
    std::size_t data_at = DT_ALIGN(strings_at + strings_.size(), std::size_t{8});
    header.loadsz = header.filesz = data_at + data_.size();
    for (dof_sec& section : sections_)
        section.offset += data_at;
    sections_[strings_section].offset = strings_at;
    sections_[strings_section].size = strings_.size();

    std::vector<std::byte> image(header.filesz);
    std::byte* to = image.data();
    std::memcpy(to, &header, sizeof header);
    std::memcpy(to + header.secoff, sections_.data(), table_bytes);
    std::memcpy(to + strings_at, strings_.data(), strings_.size());
    if (!data_.empty())
        std::memcpy(to + data_at, data_.data(), data_.size());
    return image;
}

} // namespace

std::vector<std::byte> write_dof(const Program& program, std::uint64_t first_clause)
{
    DofWriter writer;
    for (std::size_t i = 0; i < program.clauses.size(); i++)
        writer.add_clause(program.clauses[i], first_clause + i);
    return writer.finish();
}

} // namespace dt
