// A bare server with Batsim's actors on SimGrid itself: what its delays, computations and walltimes cost at least.
//
// It submits jobs, talks to a scheduler over ZeroMQ, runs the jobs, and writes one row for each. It checks nothing, and
// leaves out all that Batsim does beyond that. Usage: bare_server PLATFORM WORKLOAD ENDPOINT ROWS

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <simgrid/s4u.hpp>
#include <zmq.h>

namespace sg = simgrid::s4u;

struct Profile {
    bool sleeps;
    double amount;  // s, or flop on each machine
};

struct Job {
    std::string name, text, alloc;
    double submit, walltime;  // s
    const Profile* profile;
    const char* state = "COMPLETED_SUCCESSFULLY";
    std::vector<sg::Host*> machines;
    double start = 0.0, end = 0.0;  // s
};

enum class Kind { hello, submitted, over, execute, ready, completed };

struct Message {
    Kind kind;
    std::vector<Job*> jobs;
    std::string alloc;
};

static std::vector<sg::Host*> machines;
static std::vector<std::unique_ptr<Job>> jobs;
static std::map<std::string, Job*> known;
static std::map<std::string, Profile> profiles;
static std::vector<std::string> outbox;
static std::ofstream rows;
static void* scheduler;

static void put(Kind kind, std::vector<Job*> about = {}, const std::string& alloc = "")
{
    sg::Mailbox::by_name("server")->put(new Message{kind, std::move(about), alloc}, 1);
}

static void sleep_until(double date)
{
    if (date > sg::Engine::get_clock())
        sg::this_actor::sleep_for(date - sg::Engine::get_clock());
}

static void submit_jobs()
{
    put(Kind::hello);
    std::vector<Job*> together;
    for (const auto& job : jobs) {
        if (job->submit > sg::Engine::get_clock()) {
            if (!together.empty())
                put(Kind::submitted, std::move(together));
            together.clear();
            sleep_until(job->submit);
        }
        together.push_back(job.get());
    }
    if (!together.empty())
        put(Kind::submitted, together);
    put(Kind::over);
}

static void run_job(Job* job)
{
    job->start = sg::Engine::get_clock();
    if (job->profile->sleeps) {
        bool cut = job->profile->amount > job->walltime;
        sg::this_actor::sleep_for(cut ? job->walltime : job->profile->amount);
        if (cut)
            job->state = "COMPLETED_WALLTIME_REACHED";
    } else {
        std::vector<double> each(job->machines.size(), job->profile->amount), bytes;
        sg::ExecPtr task = sg::this_actor::exec_init(job->machines, each, bytes);
        task->start();
        try {
            task->wait_for(job->walltime);
        } catch (const simgrid::TimeoutException&) {
            job->state = "COMPLETED_WALLTIME_REACHED";
            task->cancel();
        }
    }
    job->end = sg::Engine::get_clock();
    put(Kind::completed, {job});
}

static void converse(const std::string& text)
{
    zmq_send(scheduler, text.data(), text.size(), 0);
    zmq_msg_t raw;
    zmq_msg_init(&raw);
    zmq_msg_recv(&raw, scheduler, 0);
    rapidjson::Document reply;
    reply.Parse(static_cast<char*>(zmq_msg_data(&raw)), zmq_msg_size(&raw));
    zmq_msg_close(&raw);
    for (const auto& event : reply["events"].GetArray()) {
        sleep_until(event["timestamp"].GetDouble());
        const auto& data = event["data"];
        put(Kind::execute, {known.at(data["job_id"].GetString())}, data["alloc"].GetString());
    }
    sleep_until(reply["now"].GetDouble());
    put(Kind::ready);
}

static std::string clock_text()
{
    char text[64];
    std::snprintf(text, sizeof text, "%f", sg::Engine::get_clock());
    return text;
}

static void report(const std::string& kind, const std::string& data)
{
    outbox.push_back("{\"timestamp\":" + clock_text() + ",\"type\":\"" + kind + "\",\"data\":" + data + "}");
}

static void send()
{
    std::string text = "{\"now\":" + clock_text() + ",\"events\":[";
    for (std::size_t i = 0; i < outbox.size(); i++)
        text += (i ? "," : "") + outbox[i];
    outbox.clear();
    sg::Actor::create("conversation", sg::this_actor::get_host(), converse, text + "]}");
}

static void execute(Job* job, const std::string& alloc)
{
    std::istringstream numbers(job->alloc = alloc);
    for (int number; numbers >> number;)
        job->machines.push_back(machines[number]);
    sg::Actor::create("job", job->machines[0], run_job, job);
}

static void complete(Job* job)
{
    report("JOB_COMPLETED", "{\"job_id\":\"" + job->name + "\",\"job_state\":\"" + job->state
                                + "\",\"return_code\":0,\"alloc\":\"" + job->alloc + "\"}");
    rows << job->name << ',' << job->state << ',' << job->start << ',' << job->end << ',' << job->alloc << '\n';
    known.erase(job->name);
}

static void serve()
{
    bool ready = false, all_submitted = false, ends = false, ended = false;
    std::size_t completed = 0;
    report("SIMULATION_BEGINS", "{}");
    send();
    while (!ended) {
        std::unique_ptr<Message> message(sg::Mailbox::by_name("server")->get<Message>());
        if (message->kind == Kind::submitted) {
            for (Job* job : message->jobs) {
                known[job->name] = job;
                report("JOB_SUBMITTED", "{\"job_id\":\"" + job->name + "\",\"job\":" + job->text + "}");
            }
        } else if (message->kind == Kind::over) {
            all_submitted = true;
            report("NOTIFY", "{\"type\":\"no_more_static_job_to_submit\"}");
        } else if (message->kind == Kind::execute) {
            execute(message->jobs[0], message->alloc);
        } else if (message->kind == Kind::ready) {
            ready = true;
            ended = ends;
        } else if (message->kind == Kind::completed) {
            completed++;
            complete(message->jobs[0]);
        }
        if (!ready || ends || !sg::Mailbox::by_name("server")->empty())
            continue;
        if (outbox.empty() && all_submitted && completed == jobs.size()) {
            report("SIMULATION_ENDS", "{}");
            ends = true;
        }
        if (!outbox.empty()) {
            ready = false;
            send();
        }
    }
}

static void read_workload(const char* path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    rapidjson::Document workload;
    workload.Parse(text.str().c_str());
    for (const auto& entry : workload["profiles"].GetObject()) {
        bool sleeps = std::string(entry.value["type"].GetString()) == "delay";
        profiles[entry.name.GetString()] = {sleeps, entry.value[sleeps ? "delay" : "cpu"].GetDouble()};
    }
    for (const auto& entry : workload["jobs"].GetArray()) {
        rapidjson::StringBuffer buffer;
        rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
        entry.Accept(writer);
        auto job = std::make_unique<Job>();
        job->name = "w0!" + std::to_string(entry["id"].GetInt());
        job->text = buffer.GetString();
        job->submit = entry["subtime"].GetDouble();
        job->walltime = entry["walltime"].GetDouble();
        job->profile = &profiles.at(entry["profile"].GetString());
        jobs.push_back(std::move(job));
    }
    std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a->submit < b->submit; });
}

int main(int argc, char** argv)
{
    sg::Engine engine(&argc, argv);
    if (argc != 5) {
        std::fprintf(stderr, "usage: bare_server PLATFORM WORKLOAD ENDPOINT ROWS\n");
        return 2;
    }
    engine.set_config("host/model:ptask_L07");
    engine.load_platform(argv[1]);
    read_workload(argv[2]);
    rows.open(argv[4]);
    for (sg::Host* host : engine.get_all_hosts())
        if (host->get_name() != "master_host")
            machines.push_back(host);
    void* context = zmq_ctx_new();
    scheduler = zmq_socket(context, ZMQ_REQ);
    zmq_connect(scheduler, argv[3]);
    sg::Host* master = sg::Host::by_name("master_host");
    sg::Actor::create("submitter", master, submit_jobs);
    sg::Actor::create("server", master, serve);
    engine.run();
    zmq_close(scheduler);
    zmq_ctx_term(context);
    return 0;
}
