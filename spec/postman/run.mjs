// Runs the published collection with newman, the runner of Postman's makers: every GET, and before them those requests that create what the GETs
// read. The replies fill the variables, by the collection's own scripts. It prints how many requests were answered.
//
//   node run.mjs URL KEY
import newman from "newman";

const [url, key] = process.argv.slice(2);
const collection = await (await fetch(`${url}/docs/cascada.postman_collection.json`)).json();
collection.variable.find((v) => v.key === "secretKey").value = key;

const fills = (item) => item.event?.[0].script.exec.join("").match(/set\("(\w+)"/)?.[1];
const all = collection.item.flatMap((folder) => folder.item);
const listed = new Set(all.filter((item) => item.request.method === "GET").map(fills));
// A new webhook would be the first of the list, and has no deliveries: what a list gives is not created here. Evidence is.
const kept = (item) => item.request.method === "GET" || (fills(item) && (!listed.has(fills(item)) || item.request.url.path.includes(":id")));
for (const folder of collection.item) folder.item = folder.item.filter(kept);

// What the document's examples leave out: a piece of evidence with a file, a settlement that has closed, and a quote's amount.
const evidence = all.find((item) => item.request.method === "POST" && item.request.url.path.join("/") === "claims/:id/evidence").request;
evidence.body.raw = JSON.stringify({ kind: "other", file: { name: "a.txt", contentType: "text/plain", content: Buffer.from("It was delivered.").toString("base64") } });
const set = (path, values) => {
  const { url: to } = all.find((item) => item.request.method === "GET" && item.request.url.path.join("/") === path).request;
  for (const q of to.query) if (q.key in values) Object.assign(q, { disabled: false, value: values[q.key] });
};
set("settlements", { status: "closed" });
set("withdrawals/quote", { walletId: "{{walletId}}", amount: "50" });

const problems = [];
let count = 0;
newman
  .run({ collection, reporters: [] })
  .on("request", (error, { item, response, request }) => {
    count += 1;
    if (error || response.code >= 300) problems.push(`${item.name}: ${request.method} ${request.url}: ${error ?? `${response.code} ${response.text().slice(0, 300)}`}`);
  })
  .on("done", (error, summary) => {
    if (error) problems.push(String(error));
    problems.push(...summary.run.failures.map((f) => `${f.source?.name}: ${f.error.message}`));
    if (problems.length > 0) {
      console.error(problems.join("\n"));
      process.exit(1);
    }
    console.log(count);
  });
