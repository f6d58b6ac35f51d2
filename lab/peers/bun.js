// Bun as it is measured: Bun.serve with its router, one thread, no idle timeout. Answers are made for every request, as
// in the other servers, not given to Bun as constants.
//
//   bun bun.js PORT JSON      serves /health, /json (this text), /echo and /sum on 127.0.0.1
const [port, json] = process.argv.slice(2);

const of = (type) => ({ headers: { 'Content-Type': type } });
const text = of('text/plain');
const document = of('application/json');
const bytes = of('application/octet-stream');

async function sum(request) {
  const query = new URL(request.url).searchParams;
  const content = request.method === 'POST' ? Number(await request.text()) : 0;
  return new Response(String(Number(query.get('a')) + Number(query.get('b')) + content), text);
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  idleTimeout: 0,
  routes: {
    '/health': () => new Response('OK', text),
    '/json': () => new Response(json, document),
    '/echo': { POST: async (request) => new Response(await request.arrayBuffer(), bytes) },
    '/sum': sum,
  },
  fetch: () => new Response('not found', { status: 404 }),
});
