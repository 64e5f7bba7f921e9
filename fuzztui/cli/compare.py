"""x"""

import argparse


def compare(options: argparse.Namespace) -> int:
    return 0
