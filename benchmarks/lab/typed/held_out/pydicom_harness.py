"""pydicom: a dataset of typed elements, written as a file in memory, read again and shown."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO

import pydicom
from pydicom.dataelem import DataElement
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import UID
from pydicom.valuerep import DA, DT, IS, TM, DSdecimal, PersonName

from fuzztui.generators import Source, gen_date, gen_datetime, gen_text, gen_word, generator

warnings.simplefilter("ignore")  # about values that the standard forbids


def exchange(dataset: Dataset) -> object:
    out = BytesIO()
    strict = dataset.file_meta is not None and "MediaStorageSOPInstanceUID" in dataset.file_meta
    pydicom.dcmwrite(out, dataset, enforce_file_format=strict)
    again = pydicom.dcmread(BytesIO(out.getvalue()), force=True)
    seen: list[str] = []
    again.walk(lambda part, element: seen.append(element.repval))
    again.decode()
    json = again.to_json_dict()
    return seen, again == dataset, str(again), Dataset.from_json(json) == again, again.top()


@generator
def gen_da(r: Source) -> DA:
    return DA(gen_date(r))


@generator
def gen_dt(r: Source) -> DT:
    return DT(gen_datetime(r))


@generator
def gen_tm(r: Source) -> TM:
    return TM(gen_datetime(r).time())


@generator
def gen_ds(r: Source) -> DSdecimal:
    return DSdecimal(f"{r.integer(-9999, 9999)}.{r.below(1000)}", auto_format=True)


@generator
def gen_is(r: Source) -> IS:
    return IS(r.integer(-(2**31), 2**31 - 1) if r.below(4) == 0 else r.integer(-99, 99))


@generator
def gen_name(r: Source) -> PersonName:
    family, given, middle = gen_word(r), gen_word(r), gen_word(r)
    ideographic = f"={r.text('山田太郎', 1, 4)}" if r.below(8) == 0 else ""
    return PersonName(
        r.choose([family, f"{family}^{given}", f"{family}^{given}^{middle}"]) + ideographic
    )


@generator
def gen_uid(r: Source) -> UID:
    if r.below(4) == 0:
        return r.choose(list(pydicom.uid.AllTransferSyntaxes))
    return UID("1.2." + ".".join(str(r.integer(0, 999)) for _ in r.more(1, 8)))


@generator
def gen_sequence(r: Source, depth: int) -> Sequence:
    return Sequence([gen_items(r, depth - 1) for _ in r.more(0, 3, continues=0.5)])


VALUES: dict[str, tuple[str, Callable[[Source], object]]] = {
    "DA": ("StudyDate PatientBirthDate CalibrationDate", gen_da),
    "TM": ("StudyTime ContentTime PatientBirthTime", gen_tm),
    "DT": ("AcquisitionDateTime ScheduledProcedureStepStartDateTime", gen_dt),
    "PN": ("PatientName OtherPatientNames ReferringPhysicianName", gen_name),
    "DS": ("PatientWeight PixelSpacing ImagePositionPatient SliceThickness", gen_ds),
    "IS": ("SeriesNumber InstanceNumber NumberOfFrames", gen_is),
    "UI": ("StudyInstanceUID SOPClassUID FailedSOPInstanceUIDList", gen_uid),
    "LO": ("PatientID Manufacturer OtherPatientIDs", lambda r: gen_text(r, most=3)),
    "CS": ("Modality ImageType PatientSex", lambda r: gen_word(r).upper()),
    "US": ("Rows Columns BitsAllocated SamplesPerPixel", lambda r: r.below(1 << 16)),
    "FD": ("TubeAngle RealWorldValueSlope", lambda r: r.real(-1e6, 1e6)),
    "AT": ("FrameIncrementPointer SelectorAttribute", lambda r: r.below(1 << 32)),
    "AS": ("PatientAge", lambda r: f"{r.below(130):03}{r.choose('DWMY')}"),
    "OB": ("EncapsulatedDocument ICCProfile", lambda r: r.bytes(2 * r.below(8))),
}


@generator
def gen_element(r: Source, depth: int) -> DataElement:
    vr = r.choose([*VALUES, "SQ"]) if depth else r.choose(list(VALUES))
    if vr == "SQ":
        name = r.choose(
            ["ReferencedStudySequence", "OtherPatientIDsSequence", "SourceImageSequence"]
        )
        return DataElement(name, vr, gen_sequence(r, depth))
    names, make = VALUES[vr]
    several = vr not in ("OB", "AS") and r.below(4) == 0
    value = [make(r) for _ in r.more(0, 4)] if several else make(r)
    return DataElement(r.choose(names.split()), vr, value if r.below(16) else None)


@generator
def gen_items(r: Source, depth: int) -> Dataset:
    dataset = Dataset()
    for _ in r.more(0, 12, continues=0.85):
        dataset.add(gen_element(r, depth))
    if r.below(4) == 0:
        dataset.SpecificCharacterSet = r.choose(
            ["ISO_IR 100", "ISO_IR 192", ["", "ISO 2022 IR 87"]]
        )
    if r.below(4) == 0:
        block = dataset.private_block(0x0011, gen_word(r), create=True)
        block.add_new(r.below(256), "LO", gen_word(r))
    return dataset


@generator
def gen_meta(r: Source) -> FileMetaDataset:
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = r.choose(pydicom.uid.UncompressedTransferSyntaxes)
    if r.boolean():
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = gen_uid(r), gen_uid(r)
    return meta


def gen_dataset(r: Source) -> Dataset:
    dataset = gen_items(r, 2)
    dataset.file_meta = gen_meta(r)
    return dataset
