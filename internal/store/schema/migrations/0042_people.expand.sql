-- Who signs in to the dashboard.
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  email TEXT NOT NULL, -- in lower case; '' once the user was removed
  operator BOOLEAN NOT NULL, -- may use the operator's console
  subject TEXT NOT NULL, -- keyed hash of the issuer and subject at an identity provider
  created_at BIGINT NOT NULL,
  removed_at BIGINT NOT NULL,
  doc TEXT NOT NULL -- encrypted
);
CREATE UNIQUE INDEX users_email ON users (email) WHERE email <> '';
CREATE UNIQUE INDEX users_subject ON users (subject) WHERE subject <> '';
CREATE INDEX users_operators ON users (id) WHERE operator;
CREATE TABLE memberships (
  id TEXT NOT NULL PRIMARY KEY, -- user/merchant
  version BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  merchant TEXT NOT NULL,
  role TEXT NOT NULL, -- '' once the user was removed from the merchant
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX memberships_user ON memberships (user_id) WHERE role <> '';
CREATE INDEX memberships_merchant ON memberships (merchant, id) WHERE role <> '';
CREATE TABLE signins (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  hash TEXT NOT NULL, -- keyed hash of the token in the cookie
  address TEXT NOT NULL,
  agent TEXT NOT NULL,
  waiting BOOLEAN NOT NULL, -- for the second factor
  proven_at BIGINT NOT NULL, -- when the second factor was given last
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  visits TEXT NOT NULL -- the merchant that an operator looks at
);
CREATE UNIQUE INDEX signins_hash ON signins (hash);
CREATE INDEX signins_user ON signins (user_id, id);
CREATE TABLE links (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  kind TEXT NOT NULL, -- invitation, password_reset, sign_in
  hash TEXT NOT NULL, -- keyed hash of the token; '' once it was used or withdrawn
  user_id TEXT NOT NULL,
  email TEXT NOT NULL,
  merchant TEXT NOT NULL,
  role TEXT NOT NULL,
  operator BOOLEAN NOT NULL,
  made_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX links_hash ON links (hash) WHERE hash <> '';
CREATE INDEX links_merchant ON links (merchant, id) WHERE hash <> '';
CREATE INDEX links_user ON links (user_id) WHERE hash <> '' AND user_id <> '';
