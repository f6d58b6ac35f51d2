// Deno as it is measured: Deno.serve, one thread.
//
//   deno run --allow-net deno.js PORT JSON      serves /health, /json (this text), /echo and /sum on 127.0.0.1
const [port, json] = Deno.args;

const of = (type) => ({ headers: { 'Content-Type': type } });
const text = of('text/plain');
const document = of('application/json');
const bytes = of('application/octet-stream');

async function sum(request, url) {
  const query = new URLSearchParams(url.slice(url.indexOf('?')));
  const content = request.method === 'POST' ? Number(await request.text()) : 0;
  return new Response(String(Number(query.get('a')) + Number(query.get('b')) + content), text);
}

async function handle(request) {
  const url = request.url;
  const start = url.indexOf('/', 'http://'.length);
  const end = url.indexOf('?', start);
  switch (end < 0 ? url.slice(start) : url.slice(start, end)) {
    case '/health':
      return new Response('OK', text);
    case '/json':
      return new Response(json, document);
    case '/echo':
      return new Response(await request.arrayBuffer(), bytes);
    case '/sum':
      return await sum(request, url);
    default:
      return new Response('not found', { status: 404 });
  }
}

Deno.serve({ hostname: '127.0.0.1', port: Number(port), onListen() {} }, handle);
