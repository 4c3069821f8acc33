#include "tools/wick/command.h"

namespace wick::tool {

int run_wick(int argc, char** argv) {
  return run_commands(argc, argv, [](CommandLine& app) {
    add_train(app);
    add_explain(app);
    add_roofline(app);
    add_doctor(app);
    add_export(app);
    add_convert(app);
    add_run(app);
    add_serve(app);
    add_compare(app);
    add_bench(app);
    add_inspect(app);
    add_ops(app);
    add_devices(app);
    add_selftest(app);
    add_conformance(app);
    add_verify(app);
    add_prove(app);
    add_report(app);
    add_hang_report(app);
    add_launch(app);
    add_plan(app);
    add_quantize(app);
    add_data(app);
    add_sign(app);
    add_build(app);
  });
}

}  // namespace wick::tool
