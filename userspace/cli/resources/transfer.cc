// SPDX-License-Identifier: GPL-2.0-or-later
//
// `export` and `import` of single resources, with gcloud's flags.
#include <fmt/format.h>

#include "cli/files.h"
#include "cli/resources/body.h"
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

Command exportCommand(const Collection& collection) {
  std::vector<Flag> flags{
      field("--destination", Value::text, "", "file that is written instead of the output")};
  flags.front().names = Names::files;
  append(flags, gcloudWide());
  return {.words = {collection.command, "export"},
          .summary = fmt::format("Write a {} as a configuration document", collection.singular),
          .arguments = {nameArgument(collection)},
          .flags = std::move(flags),
          .example = fmt::format("weirctl {0} export {1} --destination {1}.yaml",
                                 collection.command, collection.exampleName),
          .run = [&collection](const Context& context, const Invocation& invocation) {
            const Answer answer =
                ask(context, {.path = pathOf(collection, invocation.argument(0))});
            if (!answer.ok()) return complain(context, answer);
            // `kind` stays in front: it makes the document one resource of its collection (C1).
            Json document = Json::object();
            if (answer.body.contains("kind")) document["kind"] = answer.body["kind"];
            document.update(configured(answer.body));
            return writeDocument(context, document, invocation.text("--destination"));
          }};
}

Command importCommand(const Collection& collection) {
  std::vector<Flag> flags{field("--source", Value::text, "",
                                "file with one resource, YAML or JSON; - or nothing: the input"),
                          dryRun()};
  flags.front().names = Names::files;
  append(flags, gcloudWide());
  return {.words = {collection.command, "import"},
          .summary = fmt::format("Create or replace a {} from a document", collection.singular),
          .arguments = {nameArgument(collection)},
          .flags = std::move(flags),
          .example = fmt::format("weirctl {0} import {1} --source {1}.yaml", collection.command,
                                 collection.exampleName),
          .run = [&collection](const Context& context, const Invocation& invocation) {
            const auto source = readSource(context, invocation.text("--source", "-"));
            if (!source) return complain(context, source.error().message);
            Client::Query query = changeQuery(invocation);
            query["name"] = source->name;
            const Answer answer = ask(context,
                                      {.method = "PUT",
                                       .path = pathOf(collection, invocation.argument(0)),
                                       .query = std::move(query),
                                       .body = source->text,
                                       .contentType = "application/yaml"},
                                      Effort::work);
            return presentChange(context, collection, invocation.argument(0), invocation, answer,
                                 "imported");
          }};
}

}  // namespace weir::cli
