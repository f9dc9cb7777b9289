// A scheduler for Batsim 5 as a library that speaks FlatBuffers: it runs one job after the other on the first hosts.
#include "batsim5_generated.h"
#include <deque>
#include <string>
#include <utility>

namespace fb = batprotocol::fb;

static flatbuffers::FlatBufferBuilder reply;
static std::deque<std::pair<std::string, uint32_t>> waiting;
static bool runs;

static uint8_t finish(double now, const std::vector<flatbuffers::Offset<fb::EventAndTimestamp>> &events, uint8_t **data,
                      uint32_t *size)
{
    reply.Finish(fb::CreateMessageDirect(reply, now, &events));
    *data = reply.GetBufferPointer();
    *size = reply.GetSize();
    return 0;
}

extern "C" uint8_t batsim_edc_init(const uint8_t *, uint32_t, uint32_t *flags, uint8_t **hello, uint32_t *size)
{
    *flags = 1;
    reply.Clear();
    auto wishes = fb::CreateSimulationFeatures(reply);
    auto event = fb::CreateEDCHelloEventDirect(reply, "1.0.0", "binary", "1", "", wishes);
    return finish(0, {fb::CreateEventAndTimestamp(reply, 0, fb::Event_EDCHelloEvent, event.Union())}, hello, size);
}

extern "C" uint8_t batsim_edc_take_decisions(const uint8_t *happened, uint32_t length, uint8_t **decisions, uint32_t *size)
{
    flatbuffers::Verifier verifier(happened, length);
    if (!fb::VerifyMessageBuffer(verifier)) return 5;
    const fb::Message *message = fb::GetMessage(happened);
    for (const fb::EventAndTimestamp *event : *message->events()) {
        if (const auto *submitted = event->event_as_JobSubmittedEvent())
            waiting.emplace_back(submitted->job_id()->str(), submitted->job()->resource_request());
        if (event->event_as_JobCompletedEvent()) runs = false;
    }
    reply.Clear();
    std::vector<flatbuffers::Offset<fb::EventAndTimestamp>> events;
    if (!runs && !waiting.empty()) {
        auto how = fb::CreatePredefinedExecutorPlacementStrategyWrapper(reply);
        std::string hosts = "0-" + std::to_string(waiting.front().second - 1);
        auto allocation = fb::CreateAllocationPlacementDirect(
            reply, hosts.c_str(), fb::ExecutorPlacement_PredefinedExecutorPlacementStrategyWrapper, how.Union());
        auto start = fb::CreateExecuteJobEventDirect(reply, waiting.front().first.c_str(), allocation);
        events.push_back(
            fb::CreateEventAndTimestamp(reply, message->now(), fb::Event_ExecuteJobEvent, start.Union()));
        waiting.pop_front();
        runs = true;
    }
    return finish(message->now(), events, decisions, size);
}

extern "C" uint8_t batsim_edc_deinit(void)
{
    waiting.clear();
    runs = false;
    return 0;
}
