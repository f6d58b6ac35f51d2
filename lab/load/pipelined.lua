-- args[1] GETs in one write (16 unless said otherwise), the next batch when all of them are answered.
-- wrk counts each answer as a request; the latency is that of the whole batch.
local batch

function init(args)
  batch = wrk.format("GET"):rep(tonumber(args[1]) or 16)
end

function request()
  return batch
end
