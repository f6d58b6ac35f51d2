-- POST with args[1] bytes of content (1024 unless said otherwise), sent back by the server.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/octet-stream"

function init(args)
  wrk.body = ("x"):rep(tonumber(args[1]) or 1024)
end
