# SPDX-License-Identifier: GPL-2.0-or-later
"""A plugin of pytest (-p at_once): failures are told when they happen. A machine may not live to the summary."""

import pytest


class AtOnce:
    def __init__(self, terminal):
        self.terminal = terminal

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.terminal.write_line(f"\n{report.nodeid} ({report.when}): {report.longreprtext}")


@pytest.hookimpl(trylast=True)  # the reporter must be there
def pytest_configure(config):
    config.pluginmanager.register(AtOnce(config.pluginmanager.getplugin("terminalreporter")))
