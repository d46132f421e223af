import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.FeatureField;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.QueryRescorer;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * Index documents and re-rank queries as OpenSearch and Elasticsearch do, by QueryRescorer and FeatureField. Lines of the
 * input, columns separated by tabs: "doc", id, title, text, term=weight ...; then "query", words, query weight, rescore
 * weight, window, field=boost ... where field is feature:TERM or text:TERM. Lines of the output: a query's ids and scores.
 */
public class Rescore {
    public static void main(String[] arguments) throws Exception {
        ByteBuffersDirectory folder = new ByteBuffersDirectory();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line = input.readLine();
        try (IndexWriter writer = new IndexWriter(folder, new IndexWriterConfig(new WhitespaceAnalyzer()))) {
            for (; line != null && line.startsWith("doc\t"); line = input.readLine()) {
                writer.addDocument(document(line.split("\t", -1)));
            }
        }
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(folder));
        for (; line != null; line = input.readLine()) {
            System.out.println(answer(searcher, line.split("\t", -1)));
        }
    }

    static Document document(String[] columns) {
        Document document = new Document();
        document.add(new StringField("id", columns[1], Field.Store.YES));
        document.add(new TextField("title", columns[2], Field.Store.NO));
        document.add(new TextField("text", columns[3], Field.Store.NO));
        for (int i = 4; i < columns.length; i++) {
            String[] pair = columns[i].split("=");
            document.add(new FeatureField("features", pair[0], Float.parseFloat(pair[1])));
        }
        return document;
    }

    static String answer(IndexSearcher searcher, String[] columns) throws Exception {
        int window = Integer.parseInt(columns[4]);
        TopDocs first = searcher.search(matching(columns[1].split(" ")), window);
        float queryWeight = Float.parseFloat(columns[2]);
        float rescoreWeight = Float.parseFloat(columns[3]);
        QueryRescorer rescorer = new QueryRescorer(rescoring(columns)) {
            @Override
            protected float combine(float firstScore, boolean matches, float secondScore) {
                return queryWeight * firstScore + (matches ? rescoreWeight * secondScore : 0f);
            }
        };
        StringBuilder found = new StringBuilder();
        for (ScoreDoc hit : rescorer.rescore(searcher, first, window).scoreDocs) {
            found.append(searcher.doc(hit.doc).get("id")).append('=').append(hit.score).append('\t');
        }
        return found.toString().trim();
    }

    static Query matching(String[] words) {
        BooleanQuery.Builder matching = new BooleanQuery.Builder();
        for (String word : words) {
            matching.add(new BoostQuery(new TermQuery(new Term("title", word)), 2f), BooleanClause.Occur.SHOULD);
            matching.add(new TermQuery(new Term("text", word)), BooleanClause.Occur.SHOULD);
        }
        return matching.build();
    }

    static Query rescoring(String[] columns) {
        BooleanQuery.Builder profile = new BooleanQuery.Builder();
        for (int i = 5; i < columns.length; i++) {
            int end = columns[i].indexOf('=');
            int colon = columns[i].indexOf(':');
            String term = columns[i].substring(colon + 1, end);
            float boost = Float.parseFloat(columns[i].substring(end + 1));
            boolean isFeature = columns[i].startsWith("feature:");
            Query clause = isFeature ? FeatureField.newLinearQuery("features", term, 1f) : new TermQuery(new Term("text", term));
            profile.add(new BoostQuery(clause, boost), BooleanClause.Occur.SHOULD);
        }
        return profile.build();
    }
}
