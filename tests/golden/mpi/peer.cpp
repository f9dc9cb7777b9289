// Replays an MPI trace in SimGrid itself and prints when each rank ended: peer PLATFORM TRACE HOST,HOST,... [--cfg=...]
// Built by: g++ peer.cpp -lsimgrid -o peer
#include <fstream>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>
#include <sstream>
#include <string>
#include <vector>

static std::vector<std::string> traces;

static void replay(int rank)
{
  smpi_replay_run("job", rank, 0, traces[rank].c_str());
  std::printf("%d %.17g\n", rank, simgrid::s4u::Engine::get_clock());
}

int main(int argc, char* argv[])
{
  simgrid::s4u::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  const std::string index = argv[2];
  std::ifstream names(index);
  for (std::string line; std::getline(names, line);)
    traces.push_back(index.substr(0, index.rfind('/') + 1) + line);
  std::vector<simgrid::s4u::Host*> hosts;
  std::istringstream wanted(argv[3]);
  for (std::string name; std::getline(wanted, name, ',');)
    hosts.push_back(simgrid::s4u::Host::by_name(name));
  SMPI_app_instance_register("job", nullptr, traces.size());
  SMPI_init();
  for (std::size_t rank = 0; rank < traces.size(); rank++)
    simgrid::s4u::Actor::create(std::to_string(rank), hosts[rank % hosts.size()], replay, rank);
  engine.run();
  return 0;
}
