import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, test, vi } from 'vitest';
import { ask, bed, log, plan, post, useBed } from './testbed.ts';

useBed();

describe('without a fault', () => {
  test('a request and its answer pass unchanged, with the Host that the client sent', async () => {
    const res = await ask('/checkout?a=1', { method: 'POST', body: 'sku=1', headers: { Host: 'shop.example' } });
    expect(res).toMatchObject({ status: 201, body: 'placed', headers: { 'set-cookie': ['a=1', 'b=2'] } });
    expect(bed.arrived).toMatchObject([{ method: 'POST', url: '/checkout?a=1', host: 'shop.example', body: 'sku=1' }]);
    expect(await log()).toMatchObject([
      { id: 1, method: 'POST', path: '/checkout?a=1', fault: null, outcome: 'answered', status: 201 },
    ]);
  });

  test('an answer streams: its first piece arrives while the app still works', async () => {
    let finish = () => {};
    bed.answer = (_, res) => {
      res.write('first');
      finish = () => res.end('last');
    };
    const [res] = (await once(request(bed.proxy.url).end(), 'response')) as [IncomingMessage];
    const [piece] = await once(res.setEncoding('utf8'), 'data');
    expect(piece).toBe('first');
    finish();
    expect(await text(res)).toBe('last');
  });

  test('a client that leaves breaks off its request to the app', async () => {
    const brokenOff = new Promise((resolve) => {
      bed.answer = (_, res) => {
        res.on('close', () => resolve(res.writableFinished));
        out.destroy();
      };
    });
    const out = request(bed.proxy.url).end();
    out.on('error', () => {});
    expect(await brokenOff).toBe(false);
    await vi.waitFor(async () => expect(await log()).toMatchObject([{ outcome: 'client-gone', status: null }]));
  });

  test('an app that breaks off its answer breaks off the client: half an answer never looks whole', async () => {
    bed.answer = (_, res) => {
      res.write('half');
      setImmediate(() => res.destroy());
    };
    const [res] = (await once(request(bed.proxy.url).end(), 'response')) as [IncomingMessage];
    await expect(text(res)).rejects.toThrow('aborted');
    expect(await log()).toMatchObject([{ outcome: 'lost', status: 200 }]);
  });

  test('an app that is down is a 502 with a sentence', async () => {
    bed.app.close();
    await once(bed.app, 'close');
    const res = await post('/checkout');
    expect(res.status).toBe(502);
    expect(res.body).toMatch(/^The app at http:\/\/127\.0\.0\.1:\d+ is not running/);
    expect(await log()).toMatchObject([{ outcome: 'app-down', status: 502 }]);
  });

  test('an upgraded connection is joined with the app', async () => {
    bed.app.on('upgrade', (req, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\nX-Url: ${req.url}\r\n\r\n`,
      );
      socket.pipe(socket);
    });
    const out = request(`${bed.proxy.url}/_next/hmr`, { headers: { Connection: 'Upgrade', Upgrade: 'echo' } }).end();
    const [res, socket] = await once(out, 'upgrade');
    expect(res.headers['x-url']).toBe('/_next/hmr');
    socket.write('ping');
    expect(String((await once(socket, 'data'))[0])).toBe('ping');
    expect(await log()).toMatchObject([{ path: '/_next/hmr', outcome: 'tunnelled' }]);
    const closed = once(socket, 'close');
    await bed.proxy.close();
    await closed;
  });
});

describe('faults', () => {
  test('lose-request: the app never hears of it; the next request passes', async () => {
    await plan({ kind: 'lose-request', match: { method: 'POST', path: '/checkout' } });
    await expect(post('/checkout')).rejects.toThrow(/hang up|ECONNRESET/);
    expect(bed.arrived).toEqual([]);
    expect((await post('/checkout')).status).toBe(201);
    expect(await log()).toMatchObject([
      { fault: 'lose-request', outcome: 'lost', status: null },
      { fault: null, outcome: 'answered', status: 201 },
    ]);
  });

  test('lose-answer: the app has answered whole, the client gets no byte', async () => {
    let finished: boolean | undefined;
    bed.answer = (_, res) => {
      res.on('close', () => {
        finished = res.writableFinished;
      });
      res.writeHead(201).end('x'.repeat(500_000));
    };
    await plan({ kind: 'lose-answer' });
    await expect(post('/checkout', 'sku=7')).rejects.toThrow(/hang up|ECONNRESET/);
    expect(bed.arrived).toMatchObject([{ body: 'sku=7' }]);
    expect(finished).toBe(true);
    expect(await log()).toMatchObject([{ fault: 'lose-answer', outcome: 'lost', status: 201 }]);
  });

  test.each([
    [0, ''],
    [0.5, 'plac'],
    [1, 'placed:1'],
  ])(
    'mid-answer, %d of it: the app has answered whole; the client gets so much and never its end',
    async (share, part) => {
      let finished: boolean | undefined;
      bed.answer = (_, res) => {
        res.on('close', () => {
          finished = res.writableFinished;
        });
        res.writeHead(201, { 'Content-Length': 8, 'X-Order': '1' }).end('placed:1');
      };
      await plan({ kind: 'mid-answer', share });
      const out = request(`${bed.proxy.url}/checkout`, { method: 'POST' }).end('sku=7');
      const [res] = (await once(out, 'response')) as [IncomingMessage];
      expect([res.statusCode, res.headers['x-order']]).toEqual([201, '1']);
      let got = '';
      res.setEncoding('utf8').on('data', (piece) => {
        got += piece;
      });
      const [error] = await once(res, 'error');
      expect(error).toMatchObject({ code: 'ECONNRESET' });
      expect(got).toBe(part);
      expect(finished).toBe(true);
      expect(bed.arrived).toMatchObject([{ body: 'sku=7' }]);
      expect(await log()).toMatchObject([{ fault: 'mid-answer', outcome: 'lost', status: 201 }]);
    },
  );

  test('mid-answer with ms: what has arrived stands for so long before the connection ends', async () => {
    await plan({ kind: 'mid-answer', share: 1, ms: 200 });
    // From before it is sent: this process may hear late of what has arrived.
    const sentAt = Date.now();
    const out = request(`${bed.proxy.url}/checkout`, { method: 'POST' }).end();
    const [res] = (await once(out, 'response')) as [IncomingMessage];
    const [piece] = await once(res.setEncoding('utf8'), 'data');
    expect(piece).toBe('placed');
    await once(res, 'error');
    expect(Date.now() - sentAt).toBeGreaterThanOrEqual(195);
  });

  test('mid-answer: the answer is not compressed, so that its share is that of the text', async () => {
    bed.answer = ({ headers }, res) => res.end(`${headers['accept-encoding']}`.padEnd(20, '.'));
    await plan({ kind: 'mid-answer', share: 0.45 });
    const out = request(bed.proxy.url, { headers: { 'Accept-Encoding': 'gzip' } }).end();
    const [res] = (await once(out, 'response')) as [IncomingMessage];
    res.on('error', () => {});
    expect(String((await once(res, 'data'))[0])).toBe('undefined');
  });

  describe('late-request', () => {
    const release = async () => JSON.parse((await ask('/__proxy/release', { method: 'POST' })).body);

    test('the client is cut off at once; the app gets the request when it is released, once', async () => {
      await plan({ kind: 'late-request', times: 2 });
      await expect(post('/checkout', 'first')).rejects.toThrow(/hang up|ECONNRESET/);
      await expect(post('/checkout', 'again')).rejects.toThrow(/hang up|ECONNRESET/);
      await post('/checkout', 'another');
      expect(bed.arrived.map(({ body }) => body)).toEqual(['another']);
      expect(await release()).toEqual([
        { id: 1, status: 201, body: 'placed' },
        { id: 2, status: 201, body: 'placed' },
      ]);
      expect(bed.arrived.map(({ body }) => body).toSorted()).toEqual(['again', 'another', 'first']);
      expect(await release()).toEqual([]);
      expect(await log()).toMatchObject([
        { fault: 'late-request', outcome: 'lost', status: 201 },
        { fault: 'late-request', outcome: 'lost', status: 201 },
        { fault: null, outcome: 'answered' },
      ]);
    });

    test('its answer can be read: the app is not asked to compress it', async () => {
      bed.answer = ({ headers }, res) => res.end(String(headers['accept-encoding']));
      await plan({ kind: 'late-request' });
      const sent = ask('/checkout', { method: 'POST', headers: { 'Accept-Encoding': 'gzip' } });
      await expect(sent).rejects.toThrow(/hang up|ECONNRESET/);
      expect(await release()).toMatchObject([{ body: 'undefined' }]);
    });

    test('with ms it arrives by itself', async () => {
      await plan({ kind: 'late-request', ms: 50 });
      const startedAt = Date.now();
      await expect(post('/checkout', 'first')).rejects.toThrow(/hang up|ECONNRESET/);
      expect(bed.arrived).toEqual([]);
      await vi.waitFor(() => expect(bed.arrived).toMatchObject([{ body: 'first' }]));
      expect((bed.arrived[0]?.at ?? 0) - startedAt).toBeGreaterThanOrEqual(45);
      expect(await release()).toEqual([]);
    });

    test('its rule can end while it is held back: clients get through again, the first one still follows', async () => {
      await plan({ kind: 'late-request', times: 9 });
      await expect(post('/checkout', 'first')).rejects.toThrow(/hang up|ECONNRESET/);
      expect((await ask('/__proxy/faults/1', { method: 'DELETE' })).status).toBe(204);
      expect((await ask('/__proxy/faults/1', { method: 'DELETE' })).status).toBe(404);
      await post('/checkout', 'second');
      await release();
      expect(bed.arrived.map(({ body }) => body)).toEqual(['second', 'first']);
    });

    test('an app that is down: there is no answer', async () => {
      await plan({ kind: 'late-request' });
      await expect(post('/checkout')).rejects.toThrow(/hang up|ECONNRESET/);
      bed.app.close();
      await once(bed.app, 'close');
      expect(await release()).toEqual([{ id: 1, status: null, body: '' }]);
    });

    test('DELETE of all faults loses it for good', async () => {
      await plan({ kind: 'late-request' });
      await expect(post('/checkout')).rejects.toThrow(/hang up|ECONNRESET/);
      await ask('/__proxy/faults', { method: 'DELETE' });
      expect(await release()).toEqual([]);
      expect(bed.arrived).toEqual([]);
    });
  });

  test('delay: a request reaches the app late, after its client has gone', async () => {
    await plan({ kind: 'delay', ms: 300 });
    const out = request(`${bed.proxy.url}/checkout`, { method: 'POST' }).end('sku=1');
    out.on('error', () => {});
    const startedAt = Date.now();
    await vi.waitFor(async () => expect(await log()).toMatchObject([{ fault: 'delay', outcome: 'pending' }]));
    const closed = new Promise((resolve) => out.on('close', resolve));
    out.destroy();
    await closed;
    const retry = await post('/checkout', 'sku=2');
    expect(retry.status).toBe(201);
    await vi.waitFor(() => expect(bed.arrived.map(({ body }) => body)).toEqual(['sku=2', 'sku=1']));
    expect((bed.arrived[1]?.at ?? 0) - startedAt).toBeGreaterThanOrEqual(295);
    await vi.waitFor(async () =>
      expect(await log()).toMatchObject([{ fault: 'delay', outcome: 'client-gone', status: 201 }, { fault: null }]),
    );
  });

  test('delay: a client that waits gets its answer', async () => {
    await plan({ kind: 'delay', ms: 20 });
    expect(await post('/checkout')).toMatchObject({ status: 201, body: 'placed' });
    expect(await log()).toMatchObject([{ fault: 'delay', outcome: 'answered', status: 201 }]);
  });

  test('delay-answer: the app is done at once, its answer comes later and whole', async () => {
    await plan({ kind: 'delay-answer', ms: 200 });
    const res = await post('/checkout');
    expect(Date.now() - (bed.arrived[0]?.at ?? 0)).toBeGreaterThanOrEqual(195);
    expect(res).toMatchObject({ status: 201, body: 'placed', headers: { 'set-cookie': ['a=1', 'b=2'] } });
    expect(await log()).toMatchObject([{ fault: 'delay-answer', outcome: 'answered', status: 201 }]);
  });

  test('status: the proxy answers in the app’s place', async () => {
    await plan({ kind: 'status', status: 502, retryAfter: 3 });
    expect(await post('/checkout')).toMatchObject({ status: 502, headers: { 'retry-after': '3' } });
    await plan({ kind: 'status', status: 302, location: '/sign-in' });
    expect(await post('/checkout')).toMatchObject({ status: 302, headers: { location: '/sign-in' } });
    expect(bed.arrived).toEqual([]);
    expect(await log()).toMatchObject([502, 302].map((status) => ({ fault: 'status', outcome: 'refused', status })));
  });

  test('kill-app: the app dies with the request in its hands, the client loses its connection', async () => {
    const inHand = new Promise<void>((resolve) => {
      bed.answer = () => resolve();
    });
    bed.onKillApp.mockImplementation(() => void inHand.then(() => bed.app.closeAllConnections()));
    await plan({ kind: 'kill-app' });
    await expect(post('/checkout')).rejects.toThrow(/hang up|ECONNRESET/);
    expect(bed.onKillApp).toHaveBeenCalledOnce();
    expect(bed.arrived).toHaveLength(1);
    expect(await log()).toMatchObject([{ fault: 'kill-app', outcome: 'lost', status: null }]);
  });

  test('kill-app before: the request finds the app dead', async () => {
    bed.onKillApp.mockImplementation(() => void bed.app.close());
    await plan({ kind: 'kill-app', when: 'before' });
    expect((await post('/checkout')).status).toBe(502);
    expect(bed.arrived).toEqual([]);
  });

  test('times are counted down in the list; DELETE clears rules and log', async () => {
    await plan({ kind: 'status', times: 3, match: { path: '/api/*' } });
    await ask('/api/orders');
    await ask('/other');
    const faults = async () => JSON.parse((await ask('/__proxy/faults')).body);
    expect(await faults()).toMatchObject([{ id: 1, kind: 'status', times: 3, remaining: 2 }]);
    expect((await ask('/__proxy/faults', { method: 'DELETE' })).status).toBe(204);
    expect(await faults()).toEqual([]);
    expect(await log()).toEqual([]);
    expect((await ask('/api/orders')).status).toBe(201);
  });
});
