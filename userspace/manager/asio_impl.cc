// SPDX-License-Identifier: GPL-2.0-or-later
//
// Asio and Beast are compiled here, once, instead of in every file that uses them.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
