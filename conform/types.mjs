// Compares values with the types of a library. A value has only the fields, kinds and words that its type has.
import ts from 'typescript';

const { TypeFlags: Is } = ts;

export function open(file) {
  const program = ts.createProgram([file], {
    strict: true, noEmit: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext, types: ['node'],
  });
  const source = program.getSourceFile(file);
  const wrong = program.getSemanticDiagnostics(source).map((d) => ts.flattenDiagnosticMessageText(d.messageText, ' '));
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  const checker = program.getTypeChecker();
  const members = new Map();
  const fields = (type) => {
    if (!members.has(type)) members.set(type, new Map(checker.getPropertiesOfType(type).map((p) => [p.name, p])));
    return members.get(type);
  };
  const typeOf = (symbol) => checker.getTypeOfSymbol(symbol);
  const name = (type) => checker.typeToString(type, undefined, ts.TypeFormatFlags.None).slice(0, 80);
  const texts = (type) => type.flags & Is.Intersection && type.types.some((t) => t.flags & Is.String); // OtherString

  // check lists what is strange in a value. sent: it comes from us, and lacks nothing. form: it is from a form, or a query,
  // in which everything is text.
  function check(type, value, how, at = '') {
    if (type.flags & (Is.Any | Is.Unknown)) return [];
    if (how.words?.includes(value)) return []; // invented by a test
    if (type.isUnion()) return either(type.types, value, how, at);
    if (value === null) return type.flags & (Is.Null | Is.Undefined | Is.Void) ? [] : [`${at} is null, not ${name(type)}`];
    if (Array.isArray(value) || (how.form && checker.isArrayType(type))) {
      if (!checker.isArrayType(type)) return [`${at} is a list, not ${name(type)}`];
      const [item] = checker.getTypeArguments(type);
      const list = Array.isArray(value) ? value : typeof value === 'object' ? Object.values(value) : [value];
      return list.flatMap((v, i) => check(item, v, how, `${at}[]`));
    }
    if (typeof value === 'object') return object(type, value, how, at);
    return leaf(type, value, how) ? [] : [`${at} is ${JSON.stringify(value)}, not ${name(type)}`];
  }

  // either: a union with words that an API may add to accepts only those that it has today.
  function either(types, value, how, at) {
    const words = types.some((t) => t.isStringLiteral()) ? types.filter((t) => !texts(t)) : types;
    let least;
    for (const type of words) {
      const wrong = check(type, value, how, at);
      if (wrong.length === 0) return wrong;
      const near = typeof value === 'object' && type.flags & (Is.Object | Is.Intersection);
      const rank = (near ? 0 : 1000) + wrong.length;
      if (least === undefined || rank < least.rank) least = { rank, wrong };
    }
    return typeof value === 'object' ? least.wrong : [`${at} is ${JSON.stringify(value)}, not ${words.map(name).join(' | ').slice(0, 200)}`];
  }

  function leaf(type, value, how) {
    if (name(type) === 'Date') return typeof value === 'string' && !Number.isNaN(Date.parse(value)); // as it is written in JSON
    if (type.isStringLiteral()) return value === type.value;
    if (type.isNumberLiteral()) return how.form ? value === String(type.value) : value === type.value;
    if (type.flags & Is.BooleanLiteral) return (how.form ? value : String(value)) === type.intrinsicName && (how.form || typeof value === 'boolean');
    if (type.flags & Is.StringLike || texts(type)) return typeof value === 'string';
    if (type.flags & (Is.Number | Is.BigInt)) return how.form ? /^-?\d+(\.\d+)?$/.test(value) : typeof value === 'number' || (Boolean(type.flags & Is.BigInt) && typeof value === 'string');
    return false;
  }

  function object(type, value, how, at) {
    if (!(type.flags & (Is.Object | Is.Intersection)) || checker.isArrayType(type)) return [`${at} is an object, not ${name(type)}`];
    const [call] = type.getCallSignatures();
    const known = call ? new Map(call.parameters.map((p) => [p.name.replace(/[A-Z]/g, (c) => '_' + c.toLowerCase()).replace(/_(gte|lte)$/, '.$1'), p])) : fields(type);
    const rest = checker.getIndexTypeOfType(type, ts.IndexKind.String);
    const wrong = [];
    for (const [key, field] of Object.entries(value)) {
      const place = at ? `${at}.${key}` : key;
      const symbol = known.get(key);
      if (symbol) wrong.push(...check(typeOf(symbol), field, how, place));
      else if (rest) wrong.push(...check(rest, field, how, place));
      else wrong.push(`${place} is unknown`);
    }
    if (how.sent) {
      for (const [key, symbol] of known) {
        if (!(key in value) && !(symbol.flags & ts.SymbolFlags.Optional) && !call && symbol.flags & ts.SymbolFlags.Property) wrong.push(`${at ? at + '.' : ''}${key} is missing`);
      }
    }
    return wrong;
  }

  // calls are the calls of a library by method and path.
  function calls(of) {
    const table = new Map();
    for (const [call, symbol] of fields(checker.getTypeAtLocation(source.locals.get(of).declarations[0]))) {
      const parts = {};
      for (const [part, field] of fields(typeOf(symbol))) parts[part] = typeOf(field);
      table.set(call, parts);
    }
    return table;
  }
  return { calls, check };
}
