"""pyelftools: an ELF file's sections, symbols, segments, notes, and debug information."""

from io import BytesIO

from elftools.dwarf.descriptions import describe_attr_value, describe_CFI_instructions
from elftools.elf import descriptions as d
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, SymbolTableSection


def read(data: bytes) -> list[object]:
    elf = ELFFile(BytesIO(data))
    found: list[object] = [elf.get_machine_arch(), d.describe_e_type(elf["e_type"], elf)]
    for part in elf.iter_sections():
        found.append((part.name, d.describe_sh_type(part["sh_type"])))
        if part["sh_type"] != "SHT_NOBITS":  # zeros, as many as its header claims
            found.append(part.data()[:8])
        if isinstance(part, SymbolTableSection):
            found += [(s.name, s["st_value"], dict(s["st_info"])) for s in part.iter_symbols()]
        elif isinstance(part, RelocationSection):
            found += [d.describe_reloc_type(r["r_info_type"], elf) for r in part.iter_relocations()]
        elif isinstance(part, DynamicSection):
            found += [(t.entry.d_tag, t.entry.d_val) for t in part.iter_tags()]
        elif isinstance(part, NoteSection):
            found += [d.describe_note(n, elf["e_machine"]) for n in part.iter_notes()]
    found += [(d.describe_p_type(s["p_type"]), s["p_filesz"]) for s in elf.iter_segments()]
    return found + (debug(elf.get_dwarf_info()) if elf.has_dwarf_info() else [])


def debug(info) -> list[object]:
    found: list[object] = []
    for unit in info.iter_CUs():
        for die in unit.iter_DIEs():
            of = die.attributes.values()
            found.append((die.tag, [describe_attr_value(a, die, unit.cu_offset) for a in of]))
        program = info.line_program_for_CU(unit)
        found += [str(entry.state) for entry in (program.get_entries() if program else ())]
    if info.has_EH_CFI():
        found += [describe_CFI_instructions(e) for e in info.EH_CFI_entries() if hasattr(e, "cie")]
    return found
