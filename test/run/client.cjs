// What a harness does with its model, by the providers' own clients and nothing but what the environment says. Prints the
// tokens they were told.
const Anthropic = require('@anthropic-ai/sdk').default;
const OpenAI = require('openai').default;
const { Ollama } = require('ollama');

async function main() {
  const sum = { input: 0, output: 0, cached: 0, cacheWritten: 0 };
  const add = (input, output, cached = 0, cacheWritten = 0) => {
    for (const [key, value] of Object.entries({ input, output, cached, cacheWritten })) sum[key] += value;
  };
  const anthropic = new Anthropic({ apiKey: 'sk-secret-of-the-command', maxRetries: 0 });
  const asked = { model: 'claude', max_tokens: 99, messages: [{ role: 'user', content: 'a word' }] };
  for (const answer of [await anthropic.messages.create(asked), await anthropic.messages.stream(asked).finalMessage()]) {
    const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = answer.usage;
    add(input_tokens + cache_read_input_tokens + cache_creation_input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens);
  }
  const openai = new OpenAI({ apiKey: 'sk-secret-of-the-command', maxRetries: 0 });
  const chat = await openai.chat.completions.create({ model: 'gpt', messages: [{ role: 'user', content: 'a word' }] });
  add(chat.usage.prompt_tokens, chat.usage.completion_tokens, chat.usage.prompt_tokens_details.cached_tokens);
  const response = await openai.responses.create({ model: 'gpt', input: 'a word' });
  add(response.usage.input_tokens, response.usage.output_tokens, response.usage.input_tokens_details.cached_tokens);
  // Asks for no usage, and gets none.
  for await (const chunk of await openai.chat.completions.create({ model: 'gpt', messages: [], stream: true })) void chunk;
  const local = await new Ollama({ host: process.env.OLLAMA_HOST }).chat({ model: 'llama', messages: [], stream: false });
  add(local.prompt_eval_count, local.eval_count);
  console.log(JSON.stringify(sum));
}
main();
