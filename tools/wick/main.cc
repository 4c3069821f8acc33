#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "tools/wick/command.h"

namespace wick::tool {

void print_json(const nlohmann::json& document) { fmt::print("{}\n", document.dump(2)); }

}  // namespace wick::tool

int main(int argc, char** argv) {
  using namespace wick::tool;
  CLI::App app{"Wick: train a model, export it, run it anywhere, with the same bits.", "wick"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(WICK_VERSION));
  add_train(app);
  add_export(app);
  add_convert(app);
  add_run(app);
  add_compare(app);
  add_bench(app);
  add_inspect(app);
  add_ops(app);
  add_conformance(app);
  add_prove(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return kUsage;
  } catch (const Differs&) {
    return kDiffers;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "wick: {}\n", failed.what());
    return kFailed;
  }
  return 0;
}
