/* A scheduler for Batsim 5 as a library: it runs one job after the other on the first hosts, and speaks JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000
#define LONGEST 100

static char waiting[MOST][LONGEST]; /* names of jobs, in the order in which they came */
static long sizes[MOST];
static int came, begun, running;
static char reply[4096];

static void text_after(const char *place, char *text)
{
    int length = 0;
    while (place[length] != '"' && length < LONGEST - 1) length++;
    memcpy(text, place, length);
    text[length] = 0;
}

static void set(uint8_t **data, uint32_t *size)
{
    *data = (uint8_t *) reply;
    *size = (uint32_t) strlen(reply);
}

uint8_t batsim_edc_init(const uint8_t *init, uint32_t size, uint32_t *flags, uint8_t **hello, uint32_t *hello_size)
{
    if (size == 4 && memcmp(init, "fail", 4) == 0) return 3;
    *flags = size == 6 && memcmp(init, "binary", 6) == 0 ? 1 : 2;
    sprintf(reply, "{\"now\": 0, \"events\": [{\"timestamp\": 0, \"event_type\": \"EDCHelloEvent\", \"event\": {"
        "\"decision_component_name\": \"one by one\", \"decision_component_version\": \"1\", "
        "\"decision_component_commit\": \"\", \"requested_simulation_features\": {}}}]}");
    set(hello, hello_size);
    return 0;
}

uint8_t batsim_edc_take_decisions(const uint8_t *happened, uint32_t size, uint8_t **decisions, uint32_t *decisions_size)
{
    const char *text = (const char *) happened, *place = text;
    double now = atof(text + strlen("{\"now\": "));
    if (strlen(text) + 1 != size) return 4; /* it ends with a zero byte */
    while ((place = strstr(place, "\"event_type\": \"")) != NULL) {
        place += strlen("\"event_type\": \"");
        if (strncmp(place, "JobSubmittedEvent", 17) == 0 && came < MOST) {
            text_after(strstr(place, "\"job_id\": \"") + 11, waiting[came]);
            sizes[came++] = atol(strstr(place, "\"resource_request\": ") + 20);
        }
        if (strncmp(place, "JobCompletedEvent", 17) == 0) running = 0;
    }
    sprintf(reply, "{\"now\": %.9f, \"events\": [", now);
    if (!running && begun < came) {
        sprintf(reply + strlen(reply), "{\"timestamp\": %.9f, \"event_type\": \"ExecuteJobEvent\", \"event\": {\"job_id\": "
            "\"%s\", \"allocation\": {\"host_allocation\": \"0-%ld\", \"executor_placement_type\": "
            "\"PredefinedExecutorPlacementStrategyWrapper\", \"executor_placement\": {}}}}",
            now, waiting[begun], sizes[begun] - 1);
        begun++;
        running = 1;
    }
    strcat(reply, "]}");
    set(decisions, decisions_size);
    return 0;
}

uint8_t batsim_edc_deinit(void)
{
    came = begun = running = 0;
    return 0;
}
