-- Sends the bodies of one file with the tokens of another, both line by line and over and over:
--   wrk ... -s bench/wrk.lua http://host:port/path -- tokens.txt bodies.txt [requests sent before]
-- Where the numbers of lines have no common factor, every token comes to send every body.
-- The last line printed is `RESULT` and a JSON object; times in microseconds.

local heads, bodies, sent = {}, {}, 0

function init(args)
  for token in io.lines(args[1]) do
    heads[#heads + 1] = "POST " .. wrk.path .. " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port
      .. "\r\nContent-Type: application/json\r\nAuthorization: Bearer " .. token .. "\r\nContent-Length: "
  end
  for body in io.lines(args[2]) do
    bodies[#bodies + 1] = #body .. "\r\n\r\n" .. body
  end
  sent = tonumber(args[3] or 0)
end

function request()
  sent = sent + 1
  return heads[sent % #heads + 1] .. bodies[sent % #bodies + 1]
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests": %d, "duration": %d, "p50": %d, "p99": %d, "refused": %d, "broken": %d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
