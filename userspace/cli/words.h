// SPDX-License-Identifier: GPL-2.0-or-later
//
// Small things in words.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output.h"

namespace weir::cli {

// "17 s", "5 min 3 s", "10 min", "3 h 10 min", "2 d 4 h".
std::string duration(std::uint64_t seconds);

// Of an object with a flow's attributes (engine/explain.h): "TCP" or a number, "*" when the key
// has no protocol; "10.1.0.7:40000", "10.1.0.7", "*" when the key has no such address.
std::string protocolOf(const Json& flow);
std::string sideOf(const Json& flow, const char* address, const char* port);

// "10.1.0.7:40000", "[fd00::7]:40000".
std::string withPort(const std::string& address, unsigned port);

// The number at a JSON pointer; 0 when there is none.
std::uint64_t numberAt(const Json& object, const char* pointer);

}  // namespace weir::cli
