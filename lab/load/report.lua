-- Put behind every script here: one line that is read by the lab, with what wrk's own output rounds or leaves out.
-- Latencies are in microseconds.
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    "lab: requests=%d duration=%d p50=%d p99=%d p999=%d max=%d connect=%d read=%d write=%d status=%d timeout=%d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    latency.max, e.connect, e.read, e.write, e.status, e.timeout))
end
