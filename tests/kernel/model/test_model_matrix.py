"""The kill matrix as an engine prints it."""

from __future__ import annotations

import pytest

from fuzztui.features.corpus.matrix import CorpusMatrix, MatrixError


@pytest.mark.parametrize(
    "data", [None, {}, {"mutants": 3}, {"mutants": ["a"], "cells": [], "first_only": [[7, "x"]]}]
)
def test_damaged_data_is_no_matrix(data: object) -> None:
    with pytest.raises(MatrixError):
        CorpusMatrix.of(data)
